/**
 * Keeps the place of the keyboard. What goes from the page with the focus (a row that is deleted, a button that is no longer needed, a page that is left)
 * hands it to the element that replaced it, else to a neighbour. A popover that closes gives it back to its button; dialogs do so by themselves.
 */

/** The element that has the focus, or had it until it was removed or disabled. */
let current: HTMLElement | undefined;
/** How it is found again when it is built anew. */
let currentName = '';
/** Where it was, while nothing is there to take the focus. */
let vacant: MutationRecord | undefined;

export function keepFocus(): void {
  document.addEventListener('focusin', ({ target }) => {
    current = target as HTMLElement;
    currentName = nameOf(current);
    vacant = undefined;
  });
  document.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget === null) setTimeout(forgetWhatWasLeft);
  });
  document.addEventListener('toggle', onToggle, true);
  document.addEventListener('close', ({ target }) => isLost() && (target as Element).contains(current ?? null) && forget(), true);
  const observer = new MutationObserver(onChange);
  observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
}

const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body;
const forget = (): void => {
  current = undefined;
};

/** A person clicked on what takes no focus: nothing has it then. */
function forgetWhatWasLeft(): void {
  if (isLost() && current?.isConnected && !current.matches(':disabled')) forget();
}

function onToggle(event: Event): void {
  const { newState, target } = event as ToggleEvent;
  if (newState !== 'closed' || !(target instanceof HTMLElement) || !target.popover) return;
  const { activeElement } = document;
  // A click on the page itself, which takes the focus of what it holds, chooses nothing else.
  if (!isLost() && activeElement?.id !== 'content' && !target.contains(activeElement)) return;
  openerOf(target)?.focus();
}

const openerOf = ({ id }: Element): HTMLElement | null => document.querySelector(`[popovertarget="${CSS.escape(id)}"]`);

function onChange(records: MutationRecord[]): void {
  if (!current || !isLost()) return;
  const was = current;
  const removal = records.findLast(
    ({ target, removedNodes }) => target.isConnected && [...removedNodes].some((node) => node.contains(was)),
  );
  const isEnabled = was.isConnected && records.some(({ type, target }) => type === 'attributes' && target === was);
  if (was.isConnected) {
    // It was moved to another place, or can be used again.
    if (removal || isEnabled) was.focus();
    return;
  }
  vacant = removal ?? vacant;
  if (vacant) heirOf(vacant)?.focus();
}

/**
 * Takes the focus of what was removed: the button of its menu, where that has closed, the same control built anew, the table it belonged to, the page, or
 * the next control.
 */
function heirOf({ target, nextSibling, previousSibling }: MutationRecord): HTMLElement | undefined {
  const menu = (target as Element).closest('[popover]:not(:popover-open)');
  if (menu) return openerOf(menu) ?? undefined;
  const border = [nextSibling, previousSibling].find((node) => node?.isConnected) ?? target;
  const isAfter = (stop: Element) => {
    const where = border.compareDocumentPosition(stop);
    const isInside = stop === border || (where & Node.DOCUMENT_POSITION_CONTAINED_BY) !== 0;
    return isInside ? border === nextSibling : (where & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  };
  for (let scope = target as HTMLElement | null; scope; scope = scope.parentElement) {
    const stops = stopsIn(scope);
    const same = stops.find((stop) => nameOf(stop) === currentName);
    const table = stops.find((stop) => stop.matches('[role=grid], [role=treegrid]'));
    const page = scope.id === 'content' ? scope : scope.querySelector<HTMLElement>('#content');
    if (same ?? table ?? page) return same ?? table ?? page ?? undefined;
    if (stops.length > 0) return border === scope ? stops[0] : (stops.find(isAfter) ?? stops.at(-1));
  }
  return undefined;
}

const stopsIn = (scope: Element): HTMLElement[] =>
  [...scope.querySelectorAll<HTMLElement>('a[href], button, input, select, textarea, [tabindex]')].filter(
    (element) => element.tabIndex >= 0 && !element.matches(':disabled') && element.checkVisibility(),
  );

const nameOf = (element: HTMLElement): string => {
  const { labels, checked } = element as HTMLInputElement;
  const label = element.getAttribute('aria-label') ?? (labels?.[0] ?? element).textContent;
  return [element.localName, element.role, checked, label.slice(0, 100)].join(' ');
};
