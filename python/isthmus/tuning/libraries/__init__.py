"""What MPI libraries have: their algorithms in the terms of Isthmus, and how they count sizes."""
