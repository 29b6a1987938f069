import { type NavigateOptions, useRouter } from '@tanstack/react-router';
import { type MouseEvent, type ReactNode, useMemo } from 'react';

interface Props {
  /** Where it leads: the same object each time. */
  page: NavigateOptions;
  className?: string | undefined;
  children: ReactNode;
}

/** A link of a row that is one of many. The router's own links work out where they lead again with each change of the page's address; these do it once. */
export function RowLink({ page, className, children }: Props) {
  const router = useRouter();
  const href = useMemo(() => router.history.createHref(router.buildLocation(page).publicHref), [router, page]);
  const onClick = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.altKey || event.ctrlKey || event.shiftKey) return; // the browser opens a tab or a window
    event.preventDefault();
    void router.navigate(page);
  };
  return (
    <a href={href} className={className} onClick={onClick} onMouseEnter={() => void router.preloadRoute(page)}>
      {children}
    </a>
  );
}
