import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fileKind } from '../../shared/files/fileKind.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { FilesRefused, type NamedFile, withFiles } from '../../shared/providers/sentFiles.ts';
import { MAX_FILE_BYTES } from '../../shared/wire/files.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes; a wrong guess fails the test
type Reply = { status: number; body: any };

const model = `seeing-${newId().slice(0, 8)}`;
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const wav = Buffer.concat([Buffer.from('RIFF'), Buffer.alloc(4), Buffer.from('WAVEfmt ')]);
let service: TestService;
let endpoint: ModelEndpoint;
let projectId: string;

const call = (method: string, path: string, body?: object): Promise<Reply> =>
  service.request(method, path, body) as Promise<Reply>;
const upload = async (name: string, bytes: Uint8Array | string, project = projectId): Promise<Reply> => {
  const form = new FormData();
  form.set('file', new File([typeof bytes === 'string' ? bytes : new Uint8Array(bytes)], name));
  const response = await fetch(`${service.url}/projects/${project}/upload_file`, {
    ...{ method: 'POST', headers: { 'Service-API-Key': service.apiKey }, body: form },
  });
  return { status: response.status, body: await response.json() };
};

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  await call('PUT', `/integrations/custom/${model}`, {
    ...{ endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: [model] },
    multi_modal_config: { max_files: 2 },
  });
  projectId = (await service.project()).id;
});
beforeEach(() => {
  endpoint.requests.length = 0;
  endpoint.otherwise(says('a picture'));
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

describe('a file that is uploaded', () => {
  test('is what its bytes say, and is found, downloaded and deleted', async () => {
    const { status, body } = await upload('cat.exe', png);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        ...{ modality: 'image', content_type: 'image/png', size_bytes: png.length, filename: 'cat.exe' },
        ...{ source: 'direct_upload', status: 'complete', file_id: expect.stringMatching(/^[\da-f-]{36}$/) },
      },
    });
    const path = `/projects/${projectId}/files/${body.file_id}`;
    expect((await call('GET', path)).body).toEqual(body);
    const content = await fetch(`${service.url}${body.url}`, { headers: { 'Service-API-Key': service.apiKey } });
    expect(Buffer.from(await content.arrayBuffer())).toEqual(png);
    expect(content.headers.get('content-disposition')).toMatch(/^attachment; .*cat\.exe/);
    expect(content.headers.get('content-type')).toBe('application/octet-stream');
    const other = await service.project();
    expect((await call('GET', `/projects/${other.id}/files/${body.file_id}`)).status).toBe(404);
    expect((await call('DELETE', path)).status).toBe(200);
    for (const method of ['GET', 'DELETE']) expect((await call(method, path)).status).toBe(404);
    expect((await call('GET', `${path}/content`)).status).toBe(404);
  });

  test('is refused where no model could be sent it', async () => {
    expect(await upload('a.bin', new Uint8Array([0, 1, 2]))).toMatchObject({
      ...{
        status: 422,
        body: { detail: [{ loc: ['body', 'file'], msg: expect.stringContaining('none that a model can be sent') }] },
      },
    });
    expect((await upload('empty.txt', '')).status).toBe(422);
    const large = await upload('large.txt', 'x'.repeat(MAX_FILE_BYTES + 1));
    expect(large.body.detail[0].msg).toContain(`at most ${MAX_FILE_BYTES}`);
    const form = new FormData();
    form.set('other', 'x');
    const headers = { 'Service-API-Key': service.apiKey };
    const none = await fetch(`${service.url}/projects/${projectId}/upload_file`, { method: 'POST', headers, body: form });
    expect(none.status).toBe(422);
  });

  test.each([
    ['a.txt', 'plain', 'text/plain', 'document'],
    ['a.json', '{}', 'application/json', 'document'],
    ['a', '%PDF-1.7', 'application/pdf', 'document'],
    ['a', wav, 'audio/wav', 'audio'],
    ['a', Buffer.from([0xff, 0xfb, 0x90, 0]), 'audio/mpeg', 'audio'],
    ['a', Buffer.from([0xff, 0xd8, 0xff, 0xe0]), 'image/jpeg', 'image'],
    ['a', Buffer.concat([Buffer.alloc(4), Buffer.from('ftypisom')]), 'video/mp4', 'video'],
  ])('of the kind %s %s is %s', (name, bytes, contentType, modality) => {
    expect(fileKind(name, Buffer.from(bytes as string))).toEqual({ contentType, modality });
  });
});

describe('a record that names files', () => {
  const search = async (runId: string, body: object = {}, path = 'search'): Promise<Reply['body'][]> =>
    (await call('POST', `/projects/${projectId}/traces/${path}`, { log_stream_id: runId, ...body })).body.records;

  test('is answered with what they are, and what is deleted or of another project is left out', async () => {
    const [image, sound] = [(await upload('cat.png', png)).body, (await upload('hum.wav', wav)).body];
    const foreign = (await upload('dog.png', png, (await service.project()).id)).body;
    const stream = (await call('POST', `/projects/${projectId}/log_streams`, { name: newId() })).body.id;
    const parts = [image, sound, foreign].map(({ file_id }) => ({ type: 'file', file_id }));
    const ids = { named: newId(), plain: newId(), span: newId() };
    const spans = [{ type: 'tool', id: ids.span, name: 'look', input: 'a text' }];
    await call('POST', `/projects/${projectId}/traces`, {
      ...{ log_stream_id: stream, is_complete: true },
      traces: [
        { id: ids.named, input: parts, output: 'a cat', spans },
        { id: ids.plain, input: 'a text', output: 'none' },
      ],
    });
    const one = (records: Reply['body'][], id: string) => records.find((record) => record.id === id);
    const shown = {
      file_modalities: expect.arrayContaining(['image', 'audio']),
      files: { [image.file_id]: image, [sound.file_id]: sound },
    };
    const none = { file_ids: [], file_modalities: [], files: null };
    const found = await search(stream);
    expect(one(found, ids.named)).toMatchObject(shown);
    expect(Object.keys(one(found, ids.named).files)).toHaveLength(2);
    expect(one(found, ids.plain)).toMatchObject(none);
    const { body: tree } = await call('GET', `/projects/${projectId}/traces/${ids.named}`);
    expect(tree).toMatchObject({ ...shown, spans: [none] });

    const partial = one(await search(stream, { select_columns: { column_ids: ['name'] } }, 'partial_search'), ids.named);
    expect(partial).toMatchObject({ file_modalities: expect.arrayContaining(['image', 'audio']) });
    expect(partial).not.toHaveProperty('files');
    const chosen = await search(stream, { select_columns: { column_ids: ['files'] } }, 'partial_search');
    expect(one(chosen, ids.named)).toMatchObject(shown);
    expect(one(chosen, ids.plain)).toMatchObject({ files: null });

    await call('DELETE', `/projects/${projectId}/files/${image.file_id}`);
    expect(one(await search(stream), ids.named)).toMatchObject({
      file_ids: expect.arrayContaining([image.file_id]),
      ...{ file_modalities: ['audio'], files: { [sound.file_id]: sound } },
    });
  });
});

describe('a file that a message names', () => {
  const contents = () => endpoint.requests.map(({ body }) => (body.messages as { content: unknown }[])[0]?.content);

  test('reaches the model in place of its id, and the trace keeps the id', async () => {
    const [image, sound, text] = [
      (await upload('cat.png', png)).body,
      (await upload('hum.wav', wav)).body,
      (await upload('note.txt', 'Hello')).body,
    ];
    const part = (file: { file_id: string }) => ({ type: 'file', file_id: file.file_id });
    await runOver([part(image), { type: 'text', text: 'What is {{input}}?' }, part(text)], [{ input: 'it' }]);
    expect(contents()).toEqual([
      [
        { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}` } },
        { type: 'text', text: 'What is it?' },
        { type: 'text', text: 'note.txt:\nHello' },
      ],
    ]);
    endpoint.requests.length = 0;
    await runOver([part(sound)], [{ input: 'it' }]);
    expect(contents()).toEqual([[{ type: 'input_audio', input_audio: { data: wav.toString('base64'), format: 'wav' } }]]);
  });

  test('comes from a row of the dataset as well', async () => {
    const { file_id } = (await upload('cat.png', png)).body;
    const input = JSON.stringify([
      { type: 'text', text: 'Who is it?' },
      { type: 'file', file_id },
    ]);
    const { output } = await runOver('{{input}}', [{ input }]);
    expect(contents()).toMatchObject([[{ type: 'text', text: 'Who is it?' }, { type: 'image_url' }]]);
    expect(output).toBe('a picture');
  });

  test('fails the row with the reason where it cannot be sent', async () => {
    const other = await service.project();
    const { file_id } = (await upload('cat.png', png, other.id)).body;
    const { error } = await runOver([{ type: 'file', file_id }], [{ input: 'it' }]);
    expect(error).toContain(`names the file ${file_id}, which the project does not have`);
    const mine = (await upload('cat.png', png)).body.file_id;
    const many = await runOver(
      Array.from({ length: 3 }, () => ({ type: 'file', file_id: mine })),
      [{ input: 'it' }],
    );
    expect(many.error).toContain('at most 2');
    expect(endpoint.requests).toEqual([]);
  });

  test('is sent to a model of which nothing is known, whatever provider has it', async () => {
    const { file_id } = (await upload('cat.png', png)).body;
    const gateway = { token: 't', endpoint: endpoint.url, use_case: 'files' };
    expect((await call('PUT', '/integrations/vegas_gateway', gateway)).status).toBe(200);
    const { output } = await runOver([{ type: 'file', file_id }], [{ input: 'it' }], 'vegas_gateway/house-eyes');
    expect(contents()).toMatchObject([[{ type: 'image_url' }]]);
    expect(output).toBe('a picture');
    await call('DELETE', '/integrations/vegas_gateway');
  });

  test('is not sent to a model that is known not to take it', async () => {
    const file: NamedFile = { id: newId(), name: 'cat.png', contentType: 'image/png', modality: 'image', sizeBytes: png.length };
    const files = { find: async () => [file], bytes: async () => new Uint8Array(png) };
    const messages = [{ role: 'user', content: [{ type: 'file', file_id: file.id }] }];
    await expect(withFiles(files, messages, newId(), ['text'])).rejects.toThrow(
      /takes text, and the file "cat.png" is of the kind image/,
    );
    await expect(withFiles(files, messages, null, undefined)).rejects.toThrow(FilesRefused);
    const large = { ...files, find: async () => [{ ...file, sizeBytes: 30 * 1024 * 1024 }] };
    await expect(withFiles(large, messages, newId(), undefined)).rejects.toThrow(/at most 20971520 are sent/);
    const plain = [{ role: 'user', content: 'hi' }];
    expect(await withFiles(files, plain, null, ['text'])).toBe(plain);
  });

  /** The record of the one row of an experiment with this prompt. */
  async function runOver(content: unknown, records: object[], alias = model): Promise<{ output: unknown; error: string }> {
    const template = await call('POST', `/projects/${projectId}/templates`, {
      ...{ name: newId(), template: typeof content === 'string' ? content : [{ role: 'user', content }] },
      settings: { model_alias: alias },
    });
    expect(template.status, JSON.stringify(template.body)).toBe(200);
    const experiment = (
      await call('POST', `/projects/${projectId}/experiments`, {
        ...{ name: newId(), prompt_template_version_id: template.body.selected_version_id },
        prompt_settings: { model_alias: alias },
      })
    ).body;
    const at = `/projects/${projectId}/experiments/${experiment.id}`;
    const started = await call('POST', `${at}/run`, { records });
    expect(started.status, JSON.stringify(started.body)).toBe(200);
    await expect.poll(async () => (await call('GET', `${at}/progress`)).body.state).toMatch(/completed|failed/);
    const { records: found } = (await call('POST', `/projects/${projectId}/traces/search`, { experiment_id: experiment.id }))
      .body;
    return { output: found[0]?.output, error: found[0]?.error_message ?? '' };
  }
});
