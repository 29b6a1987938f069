import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { createServer, type Server } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../shared/config/config.ts';
import {
  connectTemporal,
  connectTemporalWorker,
  type TemporalAddress,
  temporalAddress,
} from '../../shared/stores/temporal/connect.ts';
import { startTemporalDevServer, type TemporalDevServer } from '../../shared/stores/temporal/devServer.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { findTestTemporal } from '../support/findTestTemporal.ts';
import { findProgram } from '../support/serverProcess.ts';

/** The name in the server's certificate; nothing resolves it. */
const SERVER_NAME = 'temporal.example';

describeWithServer(
  'a Temporal server that asks for certificates',
  { name: 'openssl', path: findProgram('openssl') },
  (openssl) => {
    let folder: string;
    let temporal: TemporalDevServer;
    let proxy: Server;
    let address: string;
    const at = (name: string) => join(folder, name);

    /** A key and a certificate for `name`, signed by `authority` or by itself. */
    async function certificate(name: string, subject: string, authority?: string): Promise<void> {
      const run = (...args: string[]) => promisify(execFile)(openssl, args);
      const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', at(`${name}.key`)];
      const signed = authority
        ? ['-CA', at(`${authority}.pem`), '-CAkey', at(`${authority}.key`), '-addext', 'basicConstraints=critical,CA:FALSE']
        : [];
      const alternative = ['-addext', `subjectAltName=DNS:${subject}`];
      await run(
        'req',
        '-x509',
        ...key,
        ...signed,
        ...alternative,
        '-subj',
        `/CN=${subject}`,
        '-days',
        '2',
        '-out',
        at(`${name}.pem`),
      );
    }

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'assay-tls-'));
      await certificate('authority', 'an authority');
      await certificate('stranger', 'another authority');
      await certificate('server', SERVER_NAME, 'authority');
      await certificate('client', 'a worker', 'authority');
      temporal = await startTemporalDevServer({
        path: await findTestTemporal(folder),
        dataDir: folder,
        ip: '127.0.0.1',
        port: 0,
        uiPort: 0,
        namespace: 'default',
        environment: process.env,
        log: { info: () => undefined, warn: console.log },
      });
      const [host, port] = temporal.address.split(':');
      const [key, cert, ca] = await Promise.all(['server.key', 'server.pem', 'authority.pem'].map((name) => readFile(at(name))));
      const options = { key, cert, ca, requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['h2'] };
      proxy = createServer(options, (socket) => {
        const inner = connect(Number(port), host);
        const ended = () => undefined; // either side may leave
        pipeline(socket, inner, ended);
        pipeline(inner, socket, ended);
      });
      proxy.listen(0, '127.0.0.1');
      await once(proxy, 'listening');
      address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    });
    afterAll(async () => {
      proxy?.close();
      await temporal?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const files = () => ({
      TEMPORAL_ADDRESS: address,
      TEMPORAL_TLS_CA: at('authority.pem'),
      TEMPORAL_TLS_CERT: at('client.pem'),
      TEMPORAL_TLS_KEY: at('client.key'),
      TEMPORAL_TLS_SERVER_NAME: SERVER_NAME,
    });
    const settings = (environment: Record<string, string>) => temporalAddress(readConfig(environment)) as TemporalAddress;
    const connectAs = (environment: Record<string, string>, connectTimeoutMs = 3_000) =>
      connectTemporal({ ...settings(environment), namespace: 'default', connectTimeoutMs });

    test('is reached with them, by what starts workflows and by workers', async () => {
      const { connection, client } = await connectAs(files(), 60_000);
      try {
        expect((await client.workflow.count()).count).toBe(0);
      } finally {
        await connection.close();
      }
      await (await connectTemporalWorker(settings(files()))).close();
    });

    test.each(['TEMPORAL_TLS_CA', 'TEMPORAL_TLS_SERVER_NAME'] as const)('without %s it is not trusted', async (name) => {
      const { [name]: _, ...rest } = files();
      await expect(connectAs(rest)).rejects.toThrow(`no Temporal server answers at ${address} with TLS`);
    });

    test('takes nobody without a certificate', async () => {
      const { TEMPORAL_TLS_CERT: _cert, TEMPORAL_TLS_KEY: _key, ...rest } = files();
      await expect(connectAs(rest)).rejects.toThrow(`no Temporal server answers at ${address} with TLS`);
      await expect(connectTemporalWorker(settings(rest))).rejects.toThrow('the TEMPORAL_TLS settings');
    });

    test('what is wrong with the settings is one sentence', async () => {
      await writeFile(at('no.pem'), 'no certificate');
      const wrong = (changed: Record<string, string>) => () => settings({ ...files(), ...changed });
      expect(wrong({ TEMPORAL_TLS_KEY: at('stranger.key') })).toThrow(
        'wrong settings: TEMPORAL_TLS_CA, TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY must be PEM files, the key that of the certificate',
      );
      expect(wrong({ TEMPORAL_TLS_CERT: at('no.pem') })).toThrow('must be PEM files');
      expect(wrong({ TEMPORAL_TLS_CA: at('none') })).toThrow('wrong settings: TEMPORAL_TLS_CA must be a file that exists');
      expect(wrong({ TEMPORAL_TLS_KEY: '' })).toThrow('wrong settings: TEMPORAL_TLS_CERT needs TEMPORAL_TLS_KEY');
      expect(wrong({ TEMPORAL_ADDRESS: '' })).toThrow('wrong settings: TEMPORAL_TLS_CA needs TEMPORAL_ADDRESS');
      expect(wrong({ TEMPORAL_TLS: 'false' })).toThrow(
        'wrong settings: TEMPORAL_TLS is false, but TEMPORAL_TLS_CA, TEMPORAL_TLS_CERT',
      );
    });
  },
);
