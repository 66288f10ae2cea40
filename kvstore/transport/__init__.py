"""Messages between processes: their bytes, who may connect, and ZeroMQ that carries them."""
