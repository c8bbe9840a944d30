"""Networks: autoencoders, and encoders as parts of an explained network."""
