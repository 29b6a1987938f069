import dgram from 'node:dgram';
import dns from 'node:dns';
import { registerHooks, syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

/** Takes from this process whatever leads out of it, before it runs the first line of anybody's code: what breaks out of an interpreter finds no `process`, no network and no modules. */
export function shutTheWayOut(): void {
  const refuse = () => {
    throw new Error('not allowed in a metric');
  };
  const refuseAll = (module: object) => {
    for (const name of Object.getOwnPropertyNames(module))
      if (name !== 'constructor' && typeof Object.getOwnPropertyDescriptor(module, name)?.value === 'function')
        Object.defineProperty(module, name, { value: refuse });
  };
  // Its other functions carry the channel to the service.
  Object.defineProperty(net.Socket.prototype, 'connect', { value: refuse });
  const resolvers = [dns.Resolver.prototype, dns.promises.Resolver.prototype];
  for (const module of [net, net.Server.prototype, dgram, dgram.Socket.prototype, dns.promises, dns, ...resolvers])
    refuseAll(module);
  syncBuiltinESMExports();
  registerHooks({ resolve: refuse, load: refuse });
  for (const name of ['binding', '_linkedBinding', 'dlopen', 'kill', 'getBuiltinModule', 'openStdin', 'chdir', 'setuid'])
    Object.defineProperty(process, name, { value: refuse });
  for (const name of ['process', 'fetch', 'WebSocket', 'EventSource', 'navigator', 'require', 'module', 'Worker', 'console'])
    Reflect.deleteProperty(globalThis, name);
}
