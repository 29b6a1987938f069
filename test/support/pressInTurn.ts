import type { Page } from 'playwright-core';

/** Presses the two keys of one command, such as `a q`. The second is on its way before the first is answered: the page takes two for one only if little time is between them. */
export async function pressInTurn(page: Page, first: string, second: string): Promise<void> {
  await Promise.all([page.keyboard.press(first), page.keyboard.press(second)]);
}
