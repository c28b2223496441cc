"""What pages of HTML share: markup, style and the frame of the page."""
