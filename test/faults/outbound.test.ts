import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOutboundGuard, type OutboundGuard, type OutboundRules } from '../../shared/outbound/outbound.ts';

let server: Server;
let port: number;
let reached: string[] = [];
const guards: OutboundGuard[] = [];

/** A guard whose names resolve as given; each further look-up of a name takes its next answer. */
function guardOf(rules: Partial<OutboundRules> & { names?: Record<string, string[]> } = {}): OutboundGuard {
  const { names = {}, ...rest } = rules;
  const asked = new Map<string, number>();
  const lookup = ((name: string, _options: unknown, done: (err: Error | null, addresses: unknown[]) => void) => {
    const answers = names[name];
    if (!answers) return done(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), []);
    const count = asked.get(name) ?? 0;
    asked.set(name, count + 1);
    const addresses = (answers[Math.min(count, answers.length - 1)] as string).split(' ');
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  }) as unknown as NonNullable<OutboundRules['lookup']>;
  const guard = createOutboundGuard({ allow: [], allowLoopback: false, lookup, ...rest });
  guards.push(guard);
  return guard;
}

beforeAll(async () => {
  server = createServer((request, response) => {
    reached.push(`${request.headers.host}${request.url}`);
    const target = new URL(request.url ?? '/', 'http://x').searchParams.get('to');
    if (target) response.writeHead(307, { location: target }).end();
    else response.end('reached');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  await Promise.all(guards.map((guard) => guard.close()));
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const refusals: [string, RegExp][] = [
  ['http://127.0.0.1/', /loopback/],
  ['http://127.1/', /loopback/],
  ['http://2130706433/', /loopback/],
  ['http://0x7f.0.0.1/', /loopback/],
  ['http://[::1]/', /loopback/],
  ['http://[::ffff:127.0.0.1]/', /loopback/],
  ['http://[::127.0.0.1]/', /loopback/],
  ['http://[64:ff9b::7f00:1]/', /loopback/],
  ['http://[2002:7f00:1::]/', /loopback/],
  ['http://0.0.0.0/', /reserved/],
  ['http://[::]/', /reserved/],
  ['http://10.0.0.1/', /private/],
  ['http://172.31.255.255/', /private/],
  ['http://192.168.0.1/', /private/],
  ['http://100.64.0.1/', /private/],
  ['http://[fd12::1]/', /private/],
  ['http://224.0.0.1/', /reserved/],
  ['http://169.254.169.254/latest/meta-data/', /never allowed/],
  ['http://[fe80::1]/', /never allowed/],
  ['http://[fd00:ec2::254]/', /never allowed/],
  ['http://[::ffff:169.254.169.254]/', /never allowed/],
  ['http://100.100.100.200/', /never allowed/],
  ['http://168.63.129.16/', /never allowed/],
  ['http://192.0.0.192/opc/v2/', /never allowed/],
  ['http://100.96.0.96/', /never allowed/],
  ['http://169.254.170.2/', /never allowed/],
  ['http://[fd20:ce::254]/', /never allowed/],
  ['http://[fd00:c1::a9fe:a9fe]/', /never allowed/],
  ['http://[fd00:42::42]/', /never allowed/],
  ['http://[64:ff9b::169.254.169.254]/', /never allowed/],
  ['http://[64:ff9b:1::a9fe:a9fe]/', /never allowed/],
  ['http://[64:ff9b:1:a9fe:a9:fe00::]/', /never allowed/],
  ['http://[2002:a9fe:a9fe::1]/', /never allowed/],
  ['http://[2001:0:a9fe:a9fe::1]/', /never allowed/],
  ['http://[2001:0:808:808::5601:5601]/', /never allowed/],
  ['http://[::ffff:0:a9fe:a9fe]/', /never allowed/],
  ['http://[64:ff9b::8.8.8.8]/', /reserved/],
  ['http://[64:ff9b:1::808:808]/', /reserved/],
  ['http://[2002:808:808::1]/', /reserved/],
  ['http://[2001:0:808:808::f7f7:f7f7]/', /reserved/],
  ['http://[::8.8.8.8]/', /reserved/],
  ['http://[3fff::1]/', /reserved/],
  ['http://[100::1]/', /reserved/],
  ['http://[ff02::1]/', /reserved/],
  ['http://[5f00::1]/', /reserved/],
  ['http://instance-data/', /never allowed/],
  ['http://metadata.google.internal/', /never allowed/],
  ['http://metadata.google.internal./', /never allowed/],
  ['http://user:pass@8.8.8.8/', /user name or password/],
  ['http://user@8.8.8.8/', /user name or password/],
  ['ftp://8.8.8.8/', /scheme/],
  ['file:///etc/passwd', /scheme/],
  ['data:text/plain,x', /scheme/],
  ['nonsense', /not a URL/],
];

describe('without an allow list', () => {
  test.each(refusals)('%s is refused when saved and when fetched', async (url, message) => {
    const guard = guardOf();
    await expect(guard.check(url)).rejects.toThrow(message);
    await expect(guard.fetch(url)).rejects.toThrow(message);
  });

  test.each([
    'http://8.8.8.8/',
    'http://[::ffff:8.8.8.8]/',
    'https://[2606:4700::1111]:8443/v1',
    'https://not-resolvable.example.com',
  ])('%s may be saved', async (url) => {
    await expect(guardOf().check(url)).resolves.toBeUndefined();
  });

  test('a name is judged by every address it has', async () => {
    const guard = guardOf({ names: { 'mixed.example.com': ['8.8.8.8 10.0.0.1'], 'meta.example.com': ['169.254.169.254'] } });
    await expect(guard.check('https://mixed.example.com')).rejects.toThrow('mixed.example.com (10.0.0.1) is a private address');
    await expect(guard.check('https://meta.example.com')).rejects.toThrow(/never allowed/);
  });

  test('a name that was public when saved and leads here when connected to is refused', async () => {
    const guard = guardOf({ names: { 'rebound.example.com': ['8.8.8.8', '127.0.0.1'] } });
    reached = [];
    await guard.check(`http://rebound.example.com:${port}/`);
    await expect(guard.fetch(`http://rebound.example.com:${port}/`)).rejects.toThrow(
      /rebound.example.com \(127.0.0.1\) is a loopback/,
    );
    expect(reached).toEqual([]);
  });
});

describe('an allow list', () => {
  const local = { names: { 'llm.internal': ['127.0.0.1'], 'other.internal': ['127.0.0.1'] } };

  test('opens a host at any port, or at one, and no other', async () => {
    reached = [];
    const anyPort = guardOf({ ...local, allow: ['LLM.internal'] });
    expect(await (await anyPort.fetch(`http://llm.internal:${port}/a`)).text()).toBe('reached');
    await expect(anyPort.fetch(`http://other.internal:${port}/`)).rejects.toThrow(/loopback/);
    const onePort = guardOf({ ...local, allow: [`llm.internal:${port}`] });
    expect(await (await onePort.fetch(`http://llm.internal:${port}/b`)).text()).toBe('reached');
    await expect(onePort.fetch(`http://llm.internal:${port + 1}/`)).rejects.toThrow(/loopback/);
    await expect(onePort.fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow(/loopback/);
    expect(reached).toEqual([`llm.internal:${port}/a`, `llm.internal:${port}/b`]);
  });

  test('opens a range for addresses and for names that resolve into it', async () => {
    const guard = guardOf({ ...local, allow: ['127.0.0.0/8', 'fd12::/16'] });
    await guard.check('http://[fd12::5]/');
    expect(await (await guard.fetch(`http://llm.internal:${port}/`)).text()).toBe('reached');
    expect(await (await guard.fetch(`http://127.0.0.1:${port}/`)).text()).toBe('reached');
  });

  test('opens an address in any spelling', async () => {
    const guard = guardOf({ allow: ['FD12:0:0::0005', '10.0.0.7'] });
    await guard.check('http://[fd12::5]/');
    await guard.check('http://10.7/');
    await expect(guard.check('http://10.0.0.8/')).rejects.toThrow(/private/);
  });

  test('opens a translated range for public addresses alone', async () => {
    const guard = guardOf({ allow: ['64:ff9b::/96', '10.0.0.0/8'] });
    await guard.check('http://[64:ff9b::8.8.8.8]/');
    await guard.check('http://[64:ff9b::10.0.0.1]/');
    await expect(guard.check('http://[64:ff9b::127.0.0.1]/')).rejects.toThrow(/loopback/);
    await expect(guard.check('http://[64:ff9b::192.168.0.1]/')).rejects.toThrow(/private/);
    await expect(guard.check('http://[64:ff9b::169.254.169.254]/')).rejects.toThrow(/never allowed/);
  });

  test('never opens a metadata address, not even by name or range', async () => {
    const guard = guardOf({
      allow: ['169.254.0.0/16', '169.254.169.254', 'meta.internal', 'fe80::/10', '0.0.0.0/0', '::/0'],
      names: { 'meta.internal': ['169.254.169.254'] },
    });
    for (const url of ['http://169.254.169.254/', 'http://meta.internal/', 'http://[fe80::1]/', 'http://[fd00:ec2::254]/']) {
      await expect(guard.check(url)).rejects.toThrow(/never allowed/);
      await expect(guard.fetch(url)).rejects.toThrow(/never allowed/);
    }
  });

  test.each(['10.0.0.0/33', 'http://host', 'a b', 'host:port', '10.0.0.0/x', '::1/129', 'host/path'])(
    'with the entry %j is refused at start',
    (entry) => {
      expect(() => createOutboundGuard({ allow: [entry], allowLoopback: false })).toThrow(
        `OUTBOUND_ALLOW: "${entry}" is not a host, host:port or CIDR`,
      );
    },
  );
});

describe('embedded on loopback', () => {
  test('this machine may be called, private networks may not', async () => {
    const guard = guardOf({ allowLoopback: true });
    expect(await (await guard.fetch(`http://127.0.0.1:${port}/`)).text()).toBe('reached');
    await expect(guard.check('http://10.0.0.1/')).rejects.toThrow(/private/);
  });

  test.each(['http://169.254.169.254/', 'http://10.0.0.1/', '/elsewhere', 'https://example.com/'])(
    'a redirect to %s is not followed',
    async (target) => {
      const guard = guardOf({ allow: [`127.0.0.1:${port}`] });
      reached = [];
      await expect(guard.fetch(`http://127.0.0.1:${port}/?to=${encodeURIComponent(target)}`)).rejects.toThrow(
        /answered with a redirect \(307\); redirects are not followed/,
      );
      expect(reached).toHaveLength(1);
    },
  );

  test('failures are told of public addresses, refused ones, and ports that the operator named', async () => {
    const names = { 'inside.example': ['10.0.0.1'], 'named.example': ['10.0.0.1'], 'outside.example': ['203.0.113.1 8.8.8.8'] };
    const guard = guardOf({
      allowLoopback: true,
      allow: ['10.0.0.0/8', '10.2.0.1:80', 'named.example:8080', '203.0.113.1'],
      names,
    });
    // A name counts by the addresses that it was last connected to: nothing listens there.
    const signal = AbortSignal.timeout(200);
    const urls = ['http://inside.example/', 'http://named.example:8080/', 'http://outside.example/'];
    await Promise.allSettled(urls.map((url) => guard.fetch(url, { signal })));
    expect([...urls, 'http://unasked.example/'].map(guard.mayExplain)).toEqual([false, true, false, true]);
    const addresses = ['8.8.8.8', '127.0.0.1', '10.1.0.1', '10.2.0.1', '10.2.0.1:81', '192.168.0.1', '[::ffff:10.1.0.1]'];
    expect(addresses.map((address) => guard.mayExplain(`http://${address}/`))).toEqual([
      true,
      true,
      false,
      true,
      false,
      true,
      false,
    ]);
    expect(guardOf({ allow: ['127.0.0.0/8'] }).mayExplain('http://127.0.0.1/')).toBe(false);
  });
});
