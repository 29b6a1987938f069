import { openAsBlob } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RequestInvalid } from '../../shared/errors/errors.ts';

/** A part of a form: where its content lies in the bytes of the body. */
interface Part {
  name: string;
  fileName: string | undefined;
  start: number;
  end: number;
}

/** Bytes of a part that is given as text. One without a file name that is longer is given as a file. */
const MAX_TEXT_BYTES = 64 * 1024;
const MAX_PARTS = 100;
const MAX_HEAD_BYTES = 16 * 1024;
const CRLF = '\r\n';

/**
 * A multipart form (RFC 7578) that is kept in a file of its own while it comes, so that an upload takes no memory, whatever its size. Parts are found
 * as their bytes pass.
 *
 * `busboy` and its kept-up form `@fastify/busboy` take as much CPU (130 ms for a form of 100 MB), but leave out a part whose head they cannot read or
 * that has no name, where this one refuses the form, and bound no names: https://github.com/mscdex/busboy/issues/373. One that reports such parts
 * replaces this.
 */
export class FormReader {
  /** Absent where the type of the body is not that of a form. */
  readonly #delimiter: Buffer | undefined;
  readonly #parts: Part[] = [];
  readonly #lists: readonly string[];
  #adding: Promise<void> = Promise.resolve();
  #folder: string | undefined;
  #file: FileHandle | undefined;
  #isEmpty = true;
  #isOver = false;
  /** The part whose content is being read; before the first there is none. */
  #part: Part | undefined;
  #isInHead = false;
  /** Bytes that may be the begin of a delimiter or of a head, and where they lie. The first delimiter has no line before it that ends. */
  #rest: Buffer = Buffer.from(CRLF);
  #restAt = -CRLF.length;

  /** @param lists names of parts that may come several times */
  constructor(contentType: string, lists: readonly string[] = []) {
    this.#lists = lists;
    if (!/^multipart\/form-data\b/i.test(contentType)) return;
    const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,100})"|([^\s;"]{1,100}))/i.exec(contentType) ?? [];
    const boundary = quoted ?? plain;
    if (boundary !== undefined) this.#delimiter = Buffer.from(`${CRLF}--${boundary}`, 'latin1');
  }

  /** Takes the next bytes of the body. @throws RequestInvalid when they are no form */
  add(bytes: Buffer): Promise<void> {
    this.#adding = this.#adding.then(() => this.#add(bytes));
    return this.#adding;
  }

  async #add(bytes: Buffer): Promise<void> {
    this.#isEmpty &&= bytes.length === 0;
    if (this.#isEmpty) return;
    if (!this.#delimiter) throw invalid('its content-type is not multipart/form-data, or names no boundary');
    this.#file ??= await this.#openFile();
    await this.#file.writeFile(bytes);
    this.#find(bytes, this.#delimiter);
  }

  /** The parts by name, the last of each, or all in a list where several were to be expected: texts, and files that are read where they are kept. Nothing at all where no body was sent. */
  async end(): Promise<Record<string, unknown>> {
    await this.#adding;
    if (this.#isEmpty) return {};
    if (!this.#isOver) throw invalid('it ends before its last boundary');
    await this.#file?.close();
    this.#file = undefined;
    const whole = await openAsBlob(this.#path);
    const entries = this.#parts.map(async ({ name, fileName, start, end }): Promise<[string, unknown]> => {
      const content = whole.slice(start, end);
      const isText = fileName === undefined && content.size <= MAX_TEXT_BYTES;
      return [name, isText ? await content.text() : new File([content], fileName ?? '')];
    });
    const read = await Promise.all(entries);
    const listed = this.#lists.flatMap((name): [string, unknown][] => {
      const values = read.filter((one) => one[0] === name).map((one) => one[1]);
      return values.length > 1 ? [[name, values]] : [];
    });
    return Object.fromEntries([...read, ...listed]);
  }

  /** Removes what is kept. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#adding.catch(() => undefined);
    await this.#file?.close();
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }

  get #path(): string {
    return join(this.#folder ?? '', 'body');
  }

  async #openFile(): Promise<FileHandle> {
    this.#folder = await mkdtemp(join(tmpdir(), 'assay-upload-'));
    return open(this.#path, 'wx', 0o600);
  }

  #find(bytes: Buffer, delimiter: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (!this.#isOver && (this.#isInHead ? this.#readHead() : this.#readContent(delimiter)));
    if (this.#isOver) this.#skip(this.#rest.length);
  }

  /** @returns false when more bytes are needed, here and below */
  #readContent(delimiter: Buffer): boolean {
    const at = this.#rest.indexOf(delimiter);
    if (at === -1) {
      this.#skip(Math.max(0, this.#rest.length - delimiter.length + 1));
      return false;
    }
    if (this.#part) {
      this.#part.end = this.#restAt + at;
      this.#parts.push(this.#part);
      if (this.#parts.length > MAX_PARTS) throw invalid(`it has more than ${MAX_PARTS} parts`);
    }
    this.#part = undefined;
    this.#isInHead = true;
    this.#skip(at + delimiter.length);
    return true;
  }

  #readHead(): boolean {
    if (this.#rest.length < 2) return false;
    this.#isOver = this.#rest.toString('latin1', 0, 2) === '--';
    if (this.#isOver) return true;
    const end = this.#rest.indexOf(CRLF + CRLF);
    if (end === -1 && this.#rest.length > MAX_HEAD_BYTES) throw invalid('the head of a part has no end');
    if (end === -1) return false;
    this.#part = partOf(this.#rest.toString('utf8', 0, end));
    this.#isInHead = false;
    this.#part.start = this.#restAt + end + 2 * CRLF.length;
    this.#skip(end + 2 * CRLF.length);
    return true;
  }

  #skip(bytes: number): void {
    this.#rest = this.#rest.subarray(bytes);
    this.#restAt += bytes;
  }
}

function partOf(head: string): Part {
  const disposition = /^content-disposition:\s*form-data\s*(;.*)$/im.exec(head)?.[1] ?? '';
  const name = /;\s*name="([^"\r\n]*)"/i.exec(disposition)?.[1] ?? /;\s*name=([^\s;"]+)/i.exec(disposition)?.[1];
  if (name === undefined) throw invalid('a part has no name');
  const encoded = /;\s*filename\*=utf-8''([^\s;]*)/i.exec(disposition)?.[1];
  const plain =
    /;\s*filename="((?:[^"\r\n\\]|\\.)*)"/i.exec(disposition)?.[1] ?? /;\s*filename=([^\s;"]+)/i.exec(disposition)?.[1];
  const fileName = encoded === undefined ? unescaped(plain) : decoded(encoded);
  return { name: unescaped(name) ?? '', fileName, start: 0, end: 0 };
}

/** As browsers write them in HTML forms, and some clients with a backslash. */
const unescaped = (text: string | undefined): string | undefined =>
  text?.replaceAll(/%0A/gi, '\n').replaceAll(/%0D/gi, '\r').replaceAll(/%22/g, '"').replaceAll('\\"', '"');

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function invalid(reason: string): RequestInvalid {
  const msg = 'the body is not a multipart form (multipart/form-data with a boundary)';
  return new RequestInvalid([{ loc: ['body'], msg, type: 'form_invalid', ctx: { reason } }]);
}
