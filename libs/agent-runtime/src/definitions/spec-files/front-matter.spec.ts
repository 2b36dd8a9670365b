import * as fc from 'fast-check';
import { stringify } from 'yaml';
import { parseFrontMatter } from './front-matter.js';
import { SpecFileError } from './spec.js';

const KEYS = ['name', 'description', 'tools', 'model'];
const parse = (text: string) => parseFrontMatter(text, KEYS);

function errorOf(text: string): SpecFileError {
  try {
    parse(text);
  } catch (error) {
    return error as SpecFileError;
  }
  throw new Error('the text was accepted');
}

describe('S4.3 front matter', () => {
  it('separates the fields from the body', () => {
    const { fields, body, warnings } = parse('---\nname: a\ntools: [x, y]\n---\n\n# Title\n\ntext\n');
    expect({ fields, body, warnings }).toEqual({
      fields: { name: 'a', tools: ['x', 'y'] },
      body: '# Title\n\ntext',
      warnings: [],
    });
  });

  it.each([
    ['a byte order mark', '\uFEFF---\nname: a\n---\nbody'],
    ['CRLF line ends', '---\r\nname: a\r\n---\r\nbody\r\n'],
    ['no line break at the end', '---\nname: a\n---\nbody'],
    ['spaces after the fence', '---  \nname: a\n---\t\nbody'],
  ])('reads a file with %s', (_what, text) => {
    expect(parse(text)).toMatchObject({ fields: { name: 'a' }, body: 'body' });
  });

  it('keeps a line with --- in the body', () => {
    expect(parse('---\nname: a\n---\none\n---\ntwo').body).toBe('one\n---\ntwo');
  });

  it('uses a description with an unquoted colon as plain text, and reports a warning with the line', () => {
    const { fields, warnings } = parse('---\nname: a\ndescription: Use it when: the build fails\nmodel: fast\n---\n');
    expect(fields).toEqual({ name: 'a', description: 'Use it when: the build fails', model: 'fast' });
    expect(warnings).toEqual([
      { line: 3, message: expect.stringContaining('description is not valid YAML') as string },
    ]);
  });

  it('uses several lines up to the next known key as one plain text', () => {
    const { fields } = parse('---\ndescription: First: line\nContext: second line\n  <b>x</b>\nname: a\n---\n');
    expect(fields).toEqual({ description: 'First: line\nContext: second line\n  <b>x</b>', name: 'a' });
  });

  it('reports the last line of a text, without the empty lines after it', () => {
    const text = '---\nmodel: a: b\n\ndescription: c: d\n\ne\n\nname: f\n---\n';
    const messages = parse(text).warnings.map(({ message }) => /plain text.*?\./.exec(message)?.[0]);
    expect(messages).toEqual(['plain text.', 'plain text up to line 6.']);
  });

  it('uses the last value of a key that occurs twice, with a warning', () => {
    const { fields, warnings } = parse('---\nname: a\nmodel: x\nname: b\n---\n');
    expect(fields).toEqual({ name: 'b', model: 'x' });
    expect(warnings).toEqual([{ line: 4, message: 'The key name occurs twice. The last value is used.' }]);
  });

  it.each([
    ['a key that occurs too often', `---\n${'name: a\n'.repeat(101)}---\n`, 3, 'Map keys must be unique'],
    ['no front matter', '# Title', 1, 'first line must be ---'],
    ['an empty file', '', 1, 'first line must be ---'],
    ['no end', '---\nname: a\n', 1, 'has no end'],
    ['a list instead of keys', '---\n- a\n---\n', 2, 'must contain keys'],
    ['no known key in invalid YAML', '---\na: b: c\n---\n', 2, 'not valid YAML'],
    ['a header that is too long', `---\nname: ${'x'.repeat(70_000)}\n---\n`, 2, 'more than 65536'],
  ])('rejects %s, and reports the line', (_what, text, line, message) => {
    const error = errorOf(text);
    expect(error).toMatchObject({ name: 'SpecFileError', line });
    expect(error.message).toContain(message);
  });

  it.each([
    ['an anchor', '---\nname: a\ntools: &t [x]\n---\n', 3, 'The YAML anchor &t is not supported'],
    ['an alias', '---\nname: a\ntools: *t\n---\n', 3, 'The YAML alias *t is not supported'],
    ['a merge key', '---\nname: a\n<<: *t\n---\n', 3, 'The YAML alias *t is not supported'],
    ['an alias beside invalid YAML', '---\nname: a\nmodel: b: c\ntools: *t\n---\n', 4, 'put a text that begins with *'],
  ])('rejects %s, and reports its line', (_what, text, line, message) => {
    const error = errorOf(text);
    expect(error).toMatchObject({ name: 'SpecFileError', line });
    expect(error.message).toContain(message);
  });

  it('reports text, but not comments, before the first key of a header that is not valid YAML', () => {
    const text = 'Some text.\nname: a\ndescription: b: c';
    expect(parse(`---\n# comment\n${text}\n---\n`).warnings.map(({ line }) => line)).toEqual([3, 5]);
    expect(parse('---\n# comment\n\nname: a\nmodel: b: c\n---\n').warnings.map(({ line }) => line)).toEqual([5]);
  });

  it('keeps the unknown keys of a header that is not valid YAML, and never changes a prototype', () => {
    const { fields } = parse('---\nnote: a: b\nname: a\nx: 1\ndescription: d\n__proto__: { model: m }\n"y": 2\n---\n');
    expect(Object.entries(fields)).toEqual([
      ['note', 'a: b'],
      ['name', 'a'],
      ['x', 1],
      ['description', 'd'],
      ['__proto__', { model: 'm' }],
      ['y', 2],
    ]);
  });

  it('rejects nesting that is too deep', () => {
    expect(errorOf(`---\nx: ${'['.repeat(20_000)}\n---\n`)).toBeInstanceOf(SpecFileError);
  });

  it('returns every header that is valid YAML unchanged', () => {
    const value = fc.oneof(
      fc.string({ maxLength: 40 }),
      fc.integer(),
      fc.boolean(),
      fc.array(fc.string({ maxLength: 9 })),
    );
    const header = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), value, { minKeys: 1, noNullPrototype: true });
    fc.assert(
      fc.property(header, (fields) => {
        const text = stringify(fields);
        fc.pre(!/^---\s*$/m.test(text));
        expect(parse(`---\n${text}---\nbody`)).toEqual({ fields, body: 'body', warnings: [] });
      }),
    );
  });

  it('throws only errors of the type SpecFileError', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200, unit: 'binary' }), (text) => {
        try {
          parse(`---\n${text}\n---\n`);
        } catch (error) {
          expect(error).toBeInstanceOf(SpecFileError);
        }
      }),
    );
  });
});
