import { startTestService } from './service.ts';

// A service that files of tests use one after the other: it says where it is, and ends with its standard input, since its starter may be killed.
const service = await startTestService();
const { url, dataDir, temporalUiUrl, metricsUrl, temporalAddress } = service;
console.log(JSON.stringify({ url, dataDir, temporalUiUrl, metricsUrl, temporalAddress }));
process.stdin.resume().once('close', async () => {
  await service[Symbol.asyncDispose]();
  process.exit();
});
