import { cut, oneLine, pad, paint, stateColour, widthOf } from './text.js';

/** A column of a table. */
export interface Column<Item> {
  readonly title: string;
  readonly value: (item: Item, now: number) => string | number | null | undefined;
  /** Only with `-o wide`. */
  readonly wide?: boolean;
  readonly right?: boolean;
  /** An id, a command or an explanation, which is useless if it is cut. */
  readonly whole?: boolean;
  /** The value is a state, which has a colour. */
  readonly state?: boolean;
  /** The width in a stream, whose rows are printed before the later ones are known. */
  readonly width?: number;
}

/** How items of one kind are shown to people. `name` is their id, for `-o name`. */
export interface View<Item> {
  readonly columns: readonly Column<Item>[];
  readonly name: (item: Item) => string;
  /** Such as `agents`: "No agents." */
  readonly plural: string;
}

export interface Layout {
  readonly wide: boolean;
  /** The columns of the terminal; undefined if the output is no terminal, so that nothing is cut. */
  readonly columns: number | undefined;
  readonly colours: boolean;
  readonly now: number;
}

const GAP = '  ';
const MIN_WIDTH = 4;

export function tableText<Item>(view: View<Item>, items: readonly Item[], layout: Layout): string {
  const columns = view.columns.filter(({ wide = false }) => layout.wide || !wide);
  const rows = items.map((item) => cellsOf(columns, item, layout));
  const natural = columns.map(({ title }, at) =>
    Math.max(title.length, ...rows.map((cells) => widthOf(cells[at] ?? ''))),
  );
  const widths = fit(natural, columns, layout.columns);
  const lines = [headLine(columns, widths, layout), ...rows.map((cells) => rowLine(columns, cells, widths, layout))];
  return `${lines.join('\n')}\n`;
}

/** The head and the rows of a stream, whose columns have fixed widths. */
export function streamLines<Item>(view: View<Item>, layout: Layout): { head: string; row: (item: Item) => string } {
  const columns = view.columns.filter(({ wide = false }) => layout.wide || !wide);
  const natural = columns.map(({ title, width = 0 }) => Math.max(title.length, width));
  const widths = fit(natural, columns, layout.columns);
  return {
    head: `${headLine(columns, widths, layout)}\n`,
    row: (item) => `${rowLine(columns, cellsOf(columns, item, layout), widths, layout)}\n`,
  };
}

/** All columns of one item, a line each. */
export function fieldsText<Item>({ columns }: View<Item>, item: Item, layout: Layout): string {
  const width = Math.max(...columns.map(({ title }) => title.length)) + GAP.length;
  const cells = cellsOf(columns, item, layout);
  const lines = columns.map(({ title, state }, at) => {
    const text = cells[at] ?? '';
    const shown = state === true && layout.colours ? paint(text, stateColour(text)) : text;
    return `${pad(title, width)}${shown}`;
  });
  return `${lines.join('\n')}\n`;
}

function cellsOf<Item>(columns: readonly Column<Item>[], item: Item, { now }: Layout): string[] {
  return columns.map(({ value }) => {
    const cell = value(item, now);
    return cell === null || cell === undefined || cell === '' ? '–' : oneLine(String(cell));
  });
}

function headLine<Item>(columns: readonly Column<Item>[], widths: readonly number[], { colours }: Layout): string {
  const titles = columns.map(({ title, right }, at) => pad(cut(title, widths[at] ?? 0), widths[at] ?? 0, right));
  const line = titles.join(GAP).trimEnd();
  return colours ? paint(line, 'bold') : line;
}

function rowLine<Item>(
  columns: readonly Column<Item>[],
  cells: readonly string[],
  widths: readonly number[],
  { colours, columns: terminal }: Layout,
): string {
  const parts = columns.map(({ right, state, whole }, at) => {
    const width = widths[at] ?? 0;
    const isLast = at === columns.length - 1;
    const text = terminal === undefined || whole === true ? (cells[at] ?? '') : cut(cells[at] ?? '', width);
    const padded = isLast && right !== true ? text : pad(text, width, right);
    return state === true && colours ? padded.replace(text, paint(text, stateColour(text))) : padded;
  });
  return parts.join(GAP).trimEnd();
}

/** Narrows the widest columns until the table fits into the terminal. Ids and numbers are not cut. */
function fit<Item>(
  natural: readonly number[],
  columns: readonly Column<Item>[],
  terminal: number | undefined,
): number[] {
  const widths = [...natural];
  if (terminal === undefined) return widths;
  const narrowed = widths.flatMap((_, at) => (columns[at]?.right === true || columns[at]?.whole === true ? [] : [at]));
  for (;;) {
    const total = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
    const [widest = -1] = narrowed.toSorted((one, other) => (widths[other] ?? 0) - (widths[one] ?? 0));
    const width = widths[widest] ?? 0;
    if (total <= terminal || width <= MIN_WIDTH) return widths;
    widths[widest] = width - 1;
  }
}
