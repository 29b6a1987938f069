/** A piece of a message or document, as it can be shown without asking any other site for it. */
export type ContentPart =
  | { kind: 'text'; text: string }
  /** `url` has the picture itself: `data:image/…`. */
  | { kind: 'image'; url: string }
  /** A document or sound that the record holds: `url` is a `data:` address. */
  | { kind: 'file'; name: string; url: string; bytes: number }
  /** Something at another site: its address is shown, and not fetched. */
  | { kind: 'elsewhere'; what: string; address: string }
  | { kind: 'json'; value: unknown };

type Fields = Record<string, unknown>;

/** The pieces of a message's content. Parts that are no text are kept as JSON in a text, and read back from there. */
export function contentPartsOf(content: unknown): ContentPart[] {
  if (content === null || content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  return (Array.isArray(content) ? content : [content]).map(partOf);
}

/** Returns true for a list that is the content of one message: texts, images and files. */
export const isContent = (value: unknown): value is unknown[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every(
    (one) => isFields(one) && !('role' in one) && (one.type === 'text' || one.type === 'file' || mediaOf(one) !== undefined),
  );

function partOf(part: unknown): ContentPart {
  if (typeof part === 'string') return { kind: 'text', text: part };
  if (!isFields(part)) return { kind: 'json', value: part };
  if (typeof part.text === 'string') {
    const kept = /^\s*\{"/.test(part.text) ? mediaOf(readFields(part.text)) : undefined;
    return kept ?? { kind: 'text', text: part.text };
  }
  return mediaOf(part) ?? { kind: 'json', value: part };
}

/** An image, document or sound in the words of OpenAI, Anthropic or Google; undefined for anything else. */
function mediaOf(part: Fields | undefined): ContentPart | undefined {
  if (!part) return undefined;
  const { image_url: image, source, inline_data: inline, inlineData, input_audio: audio, file, file_data: fileData } = part;
  const held = fieldsOf(source) ?? fieldsOf(inline) ?? fieldsOf(inlineData) ?? fieldsOf(audio);
  const type = held?.media_type ?? held?.mime_type ?? held?.mimeType ?? (held?.format && `audio/${String(held.format)}`);
  const data = held?.data ?? fieldsOf(file)?.file_data ?? fileData;
  const url = typeof image === 'string' ? image : (fieldsOf(image)?.url ?? held?.url ?? part.uri ?? part.file_url);
  const name = String(fieldsOf(file)?.filename ?? part.filename ?? part.title ?? '');
  if (typeof data === 'string')
    return heldMedia(data.startsWith('data:') ? data : `data:${String(type ?? '')};base64,${data}`, name);
  if (typeof url !== 'string') return undefined;
  return url.startsWith('data:') ? heldMedia(url, name) : { kind: 'elsewhere', what: String(part.type ?? 'file'), address: url };
}

function heldMedia(url: string, name: string): ContentPart {
  const [, type = ''] = /^data:([\w.+-]+\/[\w.+-]+)?/.exec(url) ?? [];
  if (/^image\/(?:png|jpe?g|gif|webp|avif|bmp|svg\+xml)$/i.test(type)) return { kind: 'image', url };
  const padding = /=*$/.exec(url.slice(-2))?.[0].length ?? 0;
  const bytes = Math.floor(((url.length - url.indexOf(',') - 1 - padding) * 3) / 4);
  return { kind: 'file', name: name || type || 'file', url, bytes };
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields | undefined => (isFields(value) ? value : undefined);

function readFields(text: string): Fields | undefined {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}
