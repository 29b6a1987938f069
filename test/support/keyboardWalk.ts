import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { pressInTurn } from './pressInTurn.ts';

/** Uses a page by its keys alone. After each key something has the focus, and shows it. */
export interface KeyboardWalk {
  press(...keys: string[]): Promise<void>;
  /** Presses the two keys of one command. */
  pressTwo(first: string, second: string): Promise<void>;
  type(text: string): Promise<void>;
  /** Goes there by Tab, or back by Shift-Tab, and looks at every stop on the way. */
  tabTo(control: Locator, key?: 'Tab' | 'Shift+Tab'): Promise<void>;
  /** Waits until a control has the focus. */
  isAt(control: Locator): Promise<void>;
}

/** No page has so many stops. */
const MOST_STOPS = 80;

export function keyboardWalk(page: Page): KeyboardWalk {
  const isSeen = async (after: string) =>
    expect.poll(async () => [after, await page.evaluate(focusProblem)]).toEqual([after, undefined]);

  async function press(...keys: string[]) {
    for (const key of keys) {
      await page.keyboard.press(key);
      await isSeen(key);
    }
  }
  return {
    press,
    async pressTwo(first, second) {
      await pressInTurn(page, first, second);
      await isSeen(`${first} ${second}`);
    },
    async type(text) {
      await page.keyboard.type(text);
      await isSeen(text);
    },
    async tabTo(control, key = 'Tab') {
      await control.waitFor();
      for (let stop = 0; !(await control.evaluate(isFocused)); stop++) {
        if (stop === MOST_STOPS) throw new Error(`${key} does not lead to ${control}`);
        await press(key);
      }
    },
    async isAt(control) {
      await expect.poll(() => control.evaluate(isFocused)).toBe(true);
      await isSeen(String(control));
    },
  };
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}
interface Shown {
  parentElement: Shown | null;
  outerHTML: string;
  clientLeft: number;
  clientTop: number;
  clientWidth: number;
  clientHeight: number;
  getBoundingClientRect(): Box;
  matches(selector: string): boolean;
}
interface Window {
  document: { activeElement: Shown | null; body: Shown };
  innerWidth: number;
  innerHeight: number;
  getComputedStyle(element: Shown): Record<string, string>;
}

export const isFocused = (element: unknown): boolean => element === (globalThis as unknown as Window).document.activeElement;

/** Runs in the page. Returns why a person does not see where the focus is: nothing has it, it has no outline, or less than three sides of that are in sight. */
function focusProblem(): string | undefined {
  const { document, innerWidth, innerHeight, getComputedStyle } = globalThis as unknown as Window;
  const element = document.activeElement;
  if (!element || element === document.body) return 'nothing has the focus';
  const named = element.outerHTML.slice(0, 200);
  const style = getComputedStyle(element);
  if (!element.matches(':focus-visible') || style.outlineStyle === 'none') return `no outline: ${named}`;
  const beside = Number.parseFloat(style.outlineOffset ?? '0') + Number.parseFloat(style.outlineWidth ?? '0');
  const box = element.getBoundingClientRect();
  if (box.right <= box.left || box.bottom <= box.top) return `has no size: ${named}`;
  const ring = { left: box.left - beside, top: box.top - beside, right: box.right + beside, bottom: box.bottom + beside };
  const clips: Box[] = [{ left: 0, top: 0, right: innerWidth, bottom: innerHeight }];
  for (let above = element.parentElement; above && above !== document.body; above = above.parentElement) {
    if (getComputedStyle(above).overflow === 'visible') continue;
    const { left, top } = above.getBoundingClientRect();
    const [x, y] = [left + above.clientLeft, top + above.clientTop];
    clips.push({ left: x, top: y, right: x + above.clientWidth, bottom: y + above.clientHeight });
  }
  const hidden = (['left', 'top', 'right', 'bottom'] as const).filter((side) =>
    clips.some((clip) => (side === 'left' || side === 'top' ? ring[side] < clip[side] - 0.5 : ring[side] > clip[side] + 0.5)),
  );
  return hidden.length > 1 ? `out of sight (${hidden.join(', ')}): ${named}` : undefined;
}
