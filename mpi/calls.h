// The calls of MPI that package mpi makes, all of them by one thread. They return an error code of MPI.

// latent_begin initialises MPI and makes the communicator of the package; funneled says whether one thread of several may call it.
int latent_begin(int *rank, int *size, int *funneled);

// latent_post begins to gather n bytes of every process.
int latent_post(void *mine, void *all, int n);

// latent_wait waits for what was posted, for 10 ms at most: it looks all the time for so many seconds, and then every 50 µs.
int latent_wait(double spin, int *done);

// latent_end ends MPI, latent_abort the job.
int latent_end(void);
void latent_abort(int status);

// latent_text is what an error code says; text has room for MPI_MAX_ERROR_STRING bytes.
int latent_text(int code, char *text, int *length);
int latent_room(void);
