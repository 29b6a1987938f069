import { z } from 'zod';
import { Uuid } from './common.ts';

/** Bytes of one file: as base64 it fits into a request that the providers take. */
export const MAX_FILE_BYTES = 10 * 1024 * 1024;
/** Bytes of the files of a project. They are rows of the metadata store. */
export const MAX_PROJECT_FILE_BYTES = 512 * 1024 * 1024;

export const ProjectFiles = z.object({ project_id: Uuid });
export const OneFile = z.object({ project_id: Uuid, file_id: Uuid });
export const UploadFileForm = z
  .object({ file: z.file({ error: 'send the file as the part "file"' }) })
  .meta({ id: 'UploadFileForm' });
