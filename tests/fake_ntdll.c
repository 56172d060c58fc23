/* ntdll.so: a process that has it loaded is Wine's, for the companion (test_signals). */
extern const int cld3d_test_no_wine;
const int cld3d_test_no_wine = 1;
