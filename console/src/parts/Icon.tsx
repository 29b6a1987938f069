const paths = {
  filter: 'M2 3h12l-4.5 5.5V13l-3-1.5v-3z',
  pin: 'M5 2h6M6 2v5l-2 3h8l-2-3V2M8 10v4',
  up: 'M8 13V3M4 7l4-4 4 4',
  down: 'M8 3v10M4 9l4 4 4-4',
  close: 'M4 4l8 8M12 4l-8 8',
  columns: 'M2 3h12v10H2zM6 3v10M10 3v10',
  clock: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 5v3l2 2',
  chevron: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  search: 'M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2M11 11l3 3',
  copy: 'M5 5h9v9H5zM11 5V2H2v9h3',
  link: 'M7 9l2-2M6 7L4 9a2.1 2.1 0 0 0 3 3l2-2M10 9l2-2a2.1 2.1 0 0 0-3-3L7 6',
  user: 'M8 2a3 3 0 1 0 0 6A3 3 0 0 0 8 2M2.5 14c.6-3 2.8-4.5 5.5-4.5s4.9 1.500 5.500 4.500',
  view: 'M3 2h10v12l-5-3.500-5 3.500z',
  alert: 'M8 2l6.5 11.5h-13zM8 6.5v3M8 11.5v.2',
} as const;

/** A drawing of 16 px in the colour of the text beside it. It says nothing by itself: the control around it has the name. */
export function Icon({ name }: { name: keyof typeof paths }) {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
