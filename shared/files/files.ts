import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { MAX_FILE_BYTES, MAX_PROJECT_FILE_BYTES } from '../wire/files.ts';
import type { Modality } from '../wire/integrations.ts';
import { fileKind } from './fileKind.ts';

/** A file that was uploaded, without its bytes. */
export interface UploadedFile {
  id: string;
  projectId: string;
  name: string;
  contentType: string;
  modality: Modality;
  sizeBytes: number;
  createdBy: string;
  createdAt: Date;
}

/** Files of projects. They go with their project. */
export interface FileStore {
  /** Undefined where the files of the project would have more than `mostBytes` together. */
  insert(file: Omit<UploadedFile, 'createdAt'>, bytes: Uint8Array, mostBytes: number): Promise<UploadedFile | undefined>;
  /** Those of these ids that are the project's. */
  find(projectId: string, ids: readonly string[]): Promise<UploadedFile[]>;
  bytes(projectId: string, id: string): Promise<Uint8Array | undefined>;
  /** False when there was none. */
  delete(projectId: string, id: string): Promise<boolean>;
}

const refused = (msg: string): RequestInvalid => new RequestInvalid([{ loc: ['body', 'file'], msg, type: 'file' }]);

/** Keeps a file for a project. @throws RequestInvalid for one that is too large, that no model is sent, or that the project has no room for */
export async function saveFile(
  { files, newId }: { files: FileStore; newId(): string },
  { projectId, file, userId }: { projectId: string; file: File; userId: string },
): Promise<UploadedFile> {
  if (file.size > MAX_FILE_BYTES) throw refused(`the file has ${file.size} bytes; at most ${MAX_FILE_BYTES} are taken`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  const kind = fileKind(file.name, bytes);
  if (!kind)
    throw refused(
      'the file is none that a model can be sent: images (PNG, JPEG, GIF, WebP), sounds (WAV, MP3), PDF, MP4 and texts in UTF-8',
    );
  const name = file.name.toWellFormed().replaceAll('\u0000', '').slice(-255) || 'file';
  const stored = await files.insert(
    { id: newId(), projectId, name, ...kind, sizeBytes: bytes.length, createdBy: userId },
    bytes,
    MAX_PROJECT_FILE_BYTES,
  );
  if (!stored)
    throw refused(
      `the files of the project would have more than ${MAX_PROJECT_FILE_BYTES} bytes: delete some that nothing needs`,
    );
  return stored;
}

/** @throws ServiceError `NotFound` for one that is not of this project */
export async function foundFile(files: Pick<FileStore, 'find'>, projectId: string, id: string): Promise<UploadedFile> {
  const [file] = await files.find(projectId, [id]);
  if (!file) throw new ServiceError('NotFound', `this project has no file ${id}`);
  return file;
}
