import type { Page } from 'playwright-core';

/** Milliseconds from what somebody does to what they see. */
export interface ActionTimes {
  /** Milliseconds until the next frame is shown, by the browser's Event Timing, to 8 ms; 16 means that or less. */
  paint: number;
  /** Until the frame in which what was asked for is there. */
  data: number;
}

const PATIENCE_MS = 30_000;

/**
 * Defines in each page how times are taken, with the clock of the page, from the moment of a real input event, as the browser stamped it: to the next frame
 * by the browser's own figure, of which Interaction to Next Paint is made, and to what was asked for by a task behind the frame that has it. Such a task
 * says of the next frame too much: it waits for what the page's own tasks do behind that frame.
 */
const stopwatch = `globalThis.stopwatch = {
  painted: () => new Promise((resolve) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve(performance.now());
    port2.postMessage(0);
  })),
  async until(isThere) {
    for (const end = performance.now() + ${PATIENCE_MS}; !isThere(); await new Promise(requestAnimationFrame))
      if (performance.now() > end) throw new Error('never there: ' + isThere);
    return this.painted();
  },
  next: (type) => new Promise((resolve) => addEventListener(type, (event) => resolve(event.timeStamp), { capture: true, once: true })),
  async action(type, isThere) {
    const shown = new Map();
    const observer = new PerformanceObserver((list) => {
      for (const { name, startTime, duration } of list.getEntries()) if (name === type) shown.set(startTime, duration);
    });
    observer.observe({ type: 'event', durationThreshold: 16 });
    const at = await this.next(type);
    const data = (await this.until(isThere)) - at;
    for (let frame = 0; frame < 6 && !shown.has(at); frame++) await this.painted();
    observer.disconnect();
    return { paint: shown.get(at) ?? 16, data };
  },
  async longestFrame(milliseconds) {
    let longest = 0;
    for (let last = await new Promise(requestAnimationFrame), end = last + milliseconds; last < end; ) {
      const now = await new Promise(requestAnimationFrame);
      longest = Math.max(longest, now - last);
      last = now;
    }
    return longest;
  },
};`;

export const canTakeTimes = (page: Page): Promise<unknown> => page.addInitScript(stopwatch);

/** Slows the page's thread down as on a machine that is `times` slower. */
export async function slowDown(page: Page, times: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: times });
}

/**
 * Times one action.
 * @param type of the input event that begins it: `keydown` or `click`
 * @param isThere an expression that is true in the page when what was asked for is shown; `before` is what `noted` was before the action
 */
export async function timeAction(
  page: Page,
  { type, noted = 'null', isThere, act }: { type: string; noted?: string; isThere: string; act: () => Promise<void> },
): Promise<ActionTimes> {
  await page.evaluate(`{ const before = ${noted}; stopwatch.timed = stopwatch.action('${type}', () => ${isThere}); void 0; }`);
  await act();
  return (await page.evaluate('stopwatch.timed')) as ActionTimes;
}

/** Opens an address; milliseconds from the navigation to the frame in which the expression is true. */
export async function timeOpening(page: Page, url: string, isThere: string): Promise<number> {
  await page.goto('about:blank');
  await page.goto(url, { waitUntil: 'commit' });
  return (await page.evaluate(`stopwatch.until(() => ${isThere})`)) as number;
}

/** The longest time between two frames, in milliseconds, while the mouse wheel turns for a second over what the selector finds. */
export async function timeScrolling(page: Page, selector: string, pixels: number): Promise<number> {
  await page.locator(selector).hover();
  await page.evaluate('{ stopwatch.timed = stopwatch.longestFrame(1000); void 0; }');
  for (let turned = 0; turned < 50; turned++) {
    await page.mouse.wheel(0, pixels);
    await page.waitForTimeout(16);
  }
  return (await page.evaluate('stopwatch.timed')) as number;
}
