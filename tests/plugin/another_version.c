/* A plug-in of another Sheaf: it must be looked at and left. */
int sheaf_llvm_version(void) { return 1; }
void sheaf_llvm_compile(void) { __builtin_trap(); }
void sheaf_llvm_free(void *result) { (void)result; }
