import { useEffect } from 'react';

const SERVICE = 'Assay';

/** Names what a page shows in the title of the window, the narrowest first. What is not known yet is left out. */
export function useTitle(...names: (string | undefined)[]): void {
  const title = [...names.filter((name) => name), SERVICE].join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}
