import { ServiceError } from '../../shared/errors/errors.ts';
import { fileMetadata } from '../../shared/files/fileMetadata.ts';
import { type FileStore, foundFile, saveFile } from '../../shared/files/files.ts';
import { AnyJson, Message } from '../../shared/wire/common.ts';
import { MAX_FILE_BYTES, OneFile, ProjectFiles, UploadFileForm } from '../../shared/wire/files.ts';
import { FileMetadata } from '../../shared/wire/recordParts.ts';
import { type Endpoint, endpoint, Reply } from '../http/route.ts';
import { attachment } from '../records/exportFile.ts';

const tag = 'Files';
/** Bytes of a form beside its file. */
const FORM_BYTES = 64 * 1024;

/** Files that prompts, rows of datasets and records name by their ids. */
export const fileRoutes = (deps: { files: FileStore; newId(): string }): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/upload_file',
    errors: ['NotFound'],
    summary: 'Upload a file that prompts, rows of datasets and records of the project can name',
    description: `Images, sounds, PDF, MP4 and texts of at most ${MAX_FILE_BYTES / 1024 / 1024} MB; what a file is, its bytes say. A part {"type": "file", "file_id": …} of a message is sent as the file to the model.`,
    tag,
    access: { project: 'log_data' },
    params: ProjectFiles,
    body: UploadFileForm,
    bodyKind: 'multipart',
    bodyLimit: MAX_FILE_BYTES + FORM_BYTES,
    response: FileMetadata,
    handle: async ({ body, project, caller }) =>
      fileMetadata(await saveFile(deps, { projectId: project.id, file: body.file, userId: caller.userId })),
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/files/{file_id}',
    errors: ['NotFound'],
    summary: 'What is known of a file',
    tag,
    access: { project: 'read' },
    params: OneFile,
    response: FileMetadata,
    handle: async ({ params, project }) => fileMetadata(await foundFile(deps.files, project.id, params.file_id)),
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/files/{file_id}/content',
    errors: ['NotFound'],
    summary: 'Download a file',
    tag,
    access: { project: 'read' },
    params: OneFile,
    produces: ['application/octet-stream'],
    response: AnyJson,
    async handle({ params, project }) {
      const file = await foundFile(deps.files, project.id, params.file_id);
      const bytes = await deps.files.bytes(project.id, file.id);
      if (!bytes) throw notFound(file.id);
      const stream = async function* () {
        yield bytes;
      };
      // Never shown by a browser as a page of this service: it may be one that somebody else wrote.
      return new Reply({ stream: stream(), headers: attachment('application/octet-stream', file.name) });
    },
  }),
  endpoint({
    method: 'delete',
    path: '/projects/{project_id}/files/{file_id}',
    errors: ['NotFound'],
    summary: 'Delete a file',
    description: 'Calls of models that name it fail from then on.',
    tag,
    access: { project: 'delete_data' },
    params: OneFile,
    response: Message,
    async handle({ params, project }) {
      if (!(await deps.files.delete(project.id, params.file_id))) throw notFound(params.file_id);
      return { message: 'the file was deleted' };
    },
  }),
];

const notFound = (id: string) => new ServiceError('NotFound', `this project has no file ${id}`);
