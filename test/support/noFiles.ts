import type { FileReads } from '../../shared/records/fileReads.ts';

/** For services without uploaded files. */
export const noFiles: FileReads = { files: async () => new Map() };
