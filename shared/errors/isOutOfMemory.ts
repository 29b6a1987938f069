/**
 * Returns whether the process got no memory for a buffer: a body, its unpacked form, or rows on their way to the store. Code that blames its input for
 * an error asks here first.
 */
export function isOutOfMemory(err: unknown): boolean {
  const { code, message } = (err ?? {}) as { code?: unknown; message?: unknown };
  return (
    ['ERR_MEMORY_ALLOCATION_FAILED', 'ERR_ZLIB_INITIALIZATION_FAILED', 'Z_MEM_ERROR', 'ENOMEM'].includes(String(code)) ||
    String(code).startsWith(OF_BROTLI) ||
    (err instanceof RangeError && /allocation failed|could not allocate memory|WebAssembly\.Memory/i.test(String(message)))
  );
}

/** Node writes `ERR_` before Brotli's own name of an error, which starts with an underscore. */
const OF_BROTLI = 'ERR__ERROR_ALLOC_';
