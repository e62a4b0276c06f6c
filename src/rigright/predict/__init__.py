"""What a case comes to: the one caller of the laws of time and memory, for numbers and for arrays alike.

`room.py`: what a replica has room for. `served.py`: what is sent meets what a replica admits, at the rates
that its cards reach. `told.py`: the band of each figure.
"""
