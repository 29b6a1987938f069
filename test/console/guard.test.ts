import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHROMIUM, type ConsoleBrowser, consoleBrowser } from '../support/consoleBrowser.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

const program = { name: 'chromium', path: existsSync(CHROMIUM) ? CHROMIUM : undefined };
describeWithServer('a browser of the tests of the console', program, (executablePath) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  beforeAll(async () => {
    service = await sharedTestService();
    pages = await consoleBrowser(executablePath, service.url, /is expected/);
  });
  afterAll(async () => {
    await using _service = service;
    await expect(pages[Symbol.asyncDispose]()).rejects.toThrow(/pages had problems:\nerror: thrown/);
  });

  test.each([
    ['an error of a script', "setTimeout(() => { throw new Error('thrown') })", 'error: thrown'],
    ['a rejection that nothing handles', "void Promise.reject(new Error('rejected'))", 'error: rejected'],
    ['an error of the console', "console.error('said')", 'console: said'],
    [
      'a picture of elsewhere',
      "document.body.append(Object.assign(new Image(), { src: 'https://elsewhere.invalid/x.png' }))",
      'console: policy: img-src',
    ],
    ['a question to elsewhere', "void fetch('https://elsewhere.invalid/').catch(() => 0)", 'console: policy: connect-src'],
    [
      'a script in the page',
      "document.body.append(Object.assign(document.createElement('script'), { text: 'top.hacked = 1' }))",
      'console: policy: script-src-elem',
    ],
    [
      'a style in the page',
      "document.body.append(Object.assign(document.createElement('style'), { textContent: 'p { color: red }' }))",
      'console: policy: style-src-elem',
    ],
    ['an error on a page that a script opened', "window.open('./')?.console.error('said there')", 'console: said there'],
  ])('finds %s', async (_name, script, problem) => {
    const page = await pages.open();
    await page.goto(`${service.url}/console/sign-in`);
    await page.getByRole('heading').waitFor();
    await page.evaluate(`{ ${script}; void 0; }`);
    await expect.poll(() => pages.problems).toContainEqual(problem);
    await page.context().close();
  });

  test('takes what a test expects for no problem', async () => {
    const page = await pages.open();
    await page.goto(`${service.url}/console/sign-in`);
    await page.evaluate("console.error('this is expected'); console.error('and this is not')");
    await expect.poll(() => pages.problems).toContainEqual('console: and this is not');
    expect(pages.problems.filter((one) => one.includes('is expected'))).toEqual([]);
  });
});
