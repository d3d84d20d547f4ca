"""Models of the vendors, over their SDKs: how they are asked, and which of their failures pass."""
