import type { Modality } from '../wire/integrations.ts';

/** The kind of a file: its media type, and the modality that a model needs to be sent it. */
export interface FileKind {
  contentType: string;
  modality: Modality;
}

const ascii = (bytes: Uint8Array, from: number, text: string): boolean =>
  bytes.length >= from + text.length && [...text].every((char, at) => bytes[from + at] === char.charCodeAt(0));

/** Files by their first bytes: what a name or a browser says of a file need not be so. */
const signatures: readonly (FileKind & { is(bytes: Uint8Array): boolean })[] = [
  { contentType: 'image/png', modality: 'image', is: (bytes) => bytes[0] === 0x89 && ascii(bytes, 1, 'PNG\r\n') },
  { contentType: 'image/jpeg', modality: 'image', is: (bytes) => bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff },
  { contentType: 'image/gif', modality: 'image', is: (bytes) => ascii(bytes, 0, 'GIF8') },
  { contentType: 'image/webp', modality: 'image', is: (bytes) => ascii(bytes, 0, 'RIFF') && ascii(bytes, 8, 'WEBP') },
  { contentType: 'audio/wav', modality: 'audio', is: (bytes) => ascii(bytes, 0, 'RIFF') && ascii(bytes, 8, 'WAVE') },
  {
    contentType: 'audio/mpeg',
    modality: 'audio',
    is: (bytes) => ascii(bytes, 0, 'ID3') || (bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe6) === 0xe2),
  },
  { contentType: 'application/pdf', modality: 'document', is: (bytes) => ascii(bytes, 0, '%PDF-') },
  { contentType: 'video/mp4', modality: 'video', is: (bytes) => ascii(bytes, 4, 'ftyp') },
];

/** The name alone says which of these kinds a text is. */
const textTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  htm: 'text/html',
  html: 'text/html',
  json: 'application/json',
  md: 'text/markdown',
  xml: 'text/xml',
};

/** Returns the kind of a file, by its bytes and for texts by its name; undefined for a kind that no model receives. */
export function fileKind(name: string, bytes: Uint8Array): FileKind | undefined {
  const found = signatures.find(({ is }) => is(bytes));
  if (found) return { contentType: found.contentType, modality: found.modality };
  if (bytes.length === 0 || textOf(bytes) === undefined) return undefined;
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return { contentType: textTypes[ending] ?? 'text/plain', modality: 'document' };
}

/** The text of a file in UTF-8; undefined where it is none. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
