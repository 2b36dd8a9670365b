import { cut, widthOf } from './text.js';
import { type Layout, streamLines, tableText, type View } from './view.js';

interface Item {
  id: string;
  state: string;
  text: string;
  cost: number;
}

const VIEW: View<Item> = {
  plural: 'items',
  name: ({ id }) => id,
  columns: [
    { title: 'ID', whole: true, value: ({ id }) => id },
    { title: 'STATE', value: ({ state }) => state, state: true },
    { title: 'COST', value: ({ cost }) => cost, right: true },
    { title: 'TEXT', value: ({ text }) => text },
  ],
};
const ITEMS = [
  {
    id: '63c539afedcc4754ba5d1684d50a27d7',
    state: 'failed',
    text: 'Read the clock three times, and report it.',
    cost: 1,
  },
  { id: 'short', state: 'active', text: '日本語のテキストがここにあります。長い長い長い文です。', cost: 22 },
];
const PIPE: Layout = { wide: false, columns: undefined, colours: false, now: 0 };

describe('a table', () => {
  it('has aligned columns, and is not cut in a pipe', () => {
    expect(tableText(VIEW, ITEMS, PIPE).split('\n').slice(0, 2)).toEqual([
      'ID                                STATE   COST  TEXT',
      '63c539afedcc4754ba5d1684d50a27d7  failed     1  Read the clock three times, and report it.',
    ]);
  });

  it.each([60, 80, 120])('fits into a terminal of %i columns, and cuts neither ids nor numbers', (columns) => {
    const lines = tableText(VIEW, ITEMS, { ...PIPE, columns })
      .trimEnd()
      .split('\n');
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(columns);
    expect(lines[1]).toContain(ITEMS[0]?.id);
    expect(lines[2]).toContain(' 22 ');
  });

  it('cuts no id in a stream, whose columns have fixed widths', () => {
    const columns = VIEW.columns.map((column) => ({ ...column, width: 8 }));
    const { row } = streamLines({ ...VIEW, columns }, { ...PIPE, columns: 40 });
    for (const item of ITEMS) expect(row(item)).toContain(item.id);
    expect(row({ id: 'a', state: 'active', text: 'Read the clock.', cost: 1 })).toContain('Read th…');
  });

  it('with colours has the same words', () => {
    // oxlint-disable-next-line no-control-regex -- colours begin with ESC
    const plain = tableText(VIEW, ITEMS, { ...PIPE, colours: true }).replaceAll(/\u001b\[\d+m/g, '');
    expect(plain).toBe(tableText(VIEW, ITEMS, PIPE));
  });

  it('shows control characters of a server as text, because they could change the terminal', () => {
    const table = tableText(VIEW, [{ id: 'a\u001b[2Jb', state: 'x', text: 'one\ntwo', cost: 0 }], PIPE);
    expect(table).toContain(String.raw`a\x1b[2Jb`);
    expect(table.split('\n')).toHaveLength(3);
  });

  it('cuts wide characters by the columns that they occupy', () => {
    expect(widthOf('日本')).toBe(4);
    expect(cut('日本語', 4)).toBe('日…');
  });
});
