import { RequestInvalid } from '../../shared/errors/errors.ts';
import { fileKind } from '../../shared/files/fileKind.ts';
import { MAX_TRIED_FILE_BYTES, type TriedFiles } from '../../shared/wire/judgeTryOut.ts';

/** The texts of a try-out, with what its files hold. */
interface TriedTexts {
  query: string;
  response: string;
}

const refused = (field: keyof TriedFiles, msg: string) => new RequestInvalid([{ loc: ['body', field], msg, type: 'file' }]);

/**
 * Puts the files of a try-out behind its texts: a text as it is, an image as a data URL, which a judge that sees is sent as an image.
 * @throws RequestInvalid for files that are too large, that no judge is shown, and for images where the judge does not see
 */
export async function textsWithFiles(texts: TriedTexts, files: TriedFiles, isSeeing: boolean): Promise<TriedTexts> {
  const size = [...files.query_files, ...files.response_files].reduce((sum, file) => sum + file.size, 0);
  if (size > MAX_TRIED_FILE_BYTES)
    throw refused('query_files', `the files have ${size} bytes; at most ${MAX_TRIED_FILE_BYTES} are taken`);
  const shown = async (text: string, field: keyof TriedFiles): Promise<string> => {
    const contents = await Promise.all(files[field].map((file) => contentOf(file, field, isSeeing)));
    return [...(text === '' ? [] : [text]), ...contents].join('\n');
  };
  return { query: await shown(texts.query, 'query_files'), response: await shown(texts.response, 'response_files') };
}

async function contentOf(file: File, field: keyof TriedFiles, isSeeing: boolean): Promise<string> {
  const bytes = Buffer.from(await file.arrayBuffer());
  const name = JSON.stringify(file.name);
  const kind = fileKind(file.name, bytes);
  if (kind?.modality === 'image') {
    if (!isSeeing)
      throw refused(
        field,
        `the file ${name} is an image: add "vision" to scorer_configuration.multimodal_capabilities to have it shown`,
      );
    return `data:${kind.contentType};base64,${bytes.toString('base64')}`;
  }
  if (kind === undefined || (!kind.contentType.startsWith('text/') && kind.contentType !== 'application/json'))
    throw refused(
      field,
      `the file ${name} is neither an image (PNG, JPEG, GIF, WebP) nor a text in UTF-8: a judge is shown no others`,
    );
  return `${file.name}:\n${bytes.toString('utf8')}`;
}
