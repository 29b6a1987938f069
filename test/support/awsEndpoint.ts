import { createHash, createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type Answer, type ReceivedRequest, sends } from './modelEndpoint.ts';

export const awsToken = { aws_access_key_id: 'AKID', aws_secret_access_key: 'aws-secret' };

/**
 * Returns what the signature of a request must be (AWS Signature Version 4), from what has arrived and the secret key alone.
 * @throws Error where another key has signed it
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function signatureFor(
  { method, path, headers, text }: ReceivedRequest,
  { aws_access_key_id: id, aws_secret_access_key: secret } = awsToken,
): { scope: string; expected: string; given: string } {
  const [, by = '', scope = '', signed = '', given = ''] =
    /^AWS4-HMAC-SHA256 Credential=(\w+)\/(\S+), SignedHeaders=(\S+), Signature=(\w+)$/.exec(headers.authorization ?? '') ?? [];
  if (by !== id) throw new Error(`the request is signed by ${by}, not by ${id}`);
  const sha = (data: string) => createHash('sha256').update(data).digest('hex');
  const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();
  const [route = '', query = ''] = path.split('?');
  const canonical = [
    method,
    route.split('/').map(encodeURIComponent).join('/'),
    query,
    ...signed.split(';').map((name) => `${name}:${headers[name]}`),
    '',
    signed,
    sha(text),
  ].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`);
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha(canonical)].join('\n');
  return { scope, given, expected: hmac(key, toSign).toString('hex') };
}

/** A message of an event stream of AWS with headers that are texts. */
export function awsMessage(headers: Record<string, string>, payload: string): Buffer {
  const encoded = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(Buffer.byteLength(value));
      return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(value)]);
    }),
  );
  const body = Buffer.from(payload);
  const checksum = (data: Buffer) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(crc32(data));
    return bytes;
  };
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(16 + encoded.length + body.length, 0);
  lengths.writeUInt32BE(encoded.length, 4);
  const checked = Buffer.concat([lengths, checksum(lengths), encoded, body]);
  return Buffer.concat([checked, checksum(checked)]);
}

export const awsEvent = (type: string, said: unknown): Buffer =>
  awsMessage({ ':message-type': 'event', ':event-type': type }, typeof said === 'string' ? said : JSON.stringify(said));

/** Such a stream, cut wherever the parts end. */
export const awsStreams =
  (...parts: readonly Uint8Array[]): Answer =>
  async (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    for (const part of parts) await new Promise((resolve) => response.write(part, resolve));
    response.end();
  };

/** An error as AWS answers it: its name is in a header. */
export const awsFails = (status: number, kind: string, message: string): Answer =>
  sends(status, JSON.stringify({ message }), {
    'content-type': 'application/json',
    'x-amzn-errortype': `${kind}:http://internal.amazon.com/coral/com.amazon.bedrock/`,
  });
