import type { FileMetadata } from '../wire/recordParts.ts';
import type { UploadedFile } from './files.ts';

/** An uploaded file as it is answered. */
export const fileMetadata = (file: UploadedFile): FileMetadata => ({
  file_id: file.id,
  modality: file.modality,
  content_type: file.contentType,
  url: `/projects/${file.projectId}/files/${file.id}/content`,
  url_expires_at: null,
  size_bytes: file.sizeBytes,
  filename: file.name,
  source: 'direct_upload',
  status: 'complete',
});
