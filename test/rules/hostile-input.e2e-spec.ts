import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import { EgressPolicy } from '#rollcall/providers';
import { CapabilityAliases, normaliseCapability } from '#rollcall/registry';
import { BatchBody, BeatBody } from '../../apps/api/src/agents/liveness/heartbeat.js';
import { readBatch, readBeat, readCredential } from '../../apps/api/src/agents/liveness/beat.reader.js';
import { readProgress, readResult, readTake, readWork } from '../../apps/api/src/agents/work/work.reader.js';
import { TakeBody, TaskProgressBody, TaskResultBody } from '../../apps/api/src/agents/work/work.view.js';
import { parseJsonBody } from '../../apps/api/src/http/body/json-body.parser.js';
import { PagedList } from '../../apps/api/src/http/page.js';
import { ApiError } from '../../apps/api/src/http/problems/api.error.js';
import { VALIDATION, validationPipe } from '../../apps/api/src/http/validation/validation.pipe.js';
import { startApi, type TestApi } from '../support/api.js';
import {
  type DtoClass,
  nestedPropertiesOf,
  type NestedProperty,
  propertiesOf,
  receivedDtos,
  withNestedDtos,
} from '../support/dto-census.js';
import { HOSTILE_LISTS, HOSTILE_STRINGS, manyKeys, quickest } from '../support/hostile-values.js';

/** No input may keep a replica busy for longer than this. */
const LIMIT_MS = 50;
/** DTOs with readers, which are tested below: frames of a socket have the same fields. */
const WITH_READERS: DtoClass[] = [BeatBody, BatchBody, TakeBody, TaskProgressBody, TaskResultBody];

let api: TestApi;
let dtos: DtoClass[];
beforeAll(async () => {
  api = await startApi();
  dtos = withNestedDtos(receivedDtos(api.app));
});
afterAll(async () => await api.stop());

/** Properties that accept any text up to the limit of the body, such as the input of a run. */
const LONG_TEXTS = new Set(['input', 'InputFileBody.content']);

const validate = (dto: DtoClass, plain: object): ValidationError[] =>
  validateSync(plainToInstance(dto, plain), { ...VALIDATION });

/** The violations of one check: the input is accepted, or the check takes too long. */
async function violations(label: string, run: () => boolean): Promise<string[]> {
  let accepted = false;
  const took = await quickest(LIMIT_MS, () => (accepted = run()));
  return [...(accepted ? [`${label} is accepted`] : []), ...(took > LIMIT_MS ? [`${label} takes ${took} ms`] : [])];
}

async function violationsOfDto(dto: DtoClass, values: Record<string, unknown>): Promise<string[]> {
  const found: string[] = [];
  for (const property of propertiesOf(dto)) {
    for (const [kind, value] of Object.entries(values)) {
      const isLongText = LONG_TEXTS.has(property) || LONG_TEXTS.has(`${dto.name}.${property}`);
      const mayBeLong = typeof value === 'string' && isLongText;
      const isAccepted = (): boolean =>
        !validate(dto, { [property]: value }).some((one) => one.property === property) && !mayBeLong;
      found.push(...(await violations(`${dto.name}.${property}: ${kind}`, isAccepted)));
    }
  }
  return found;
}

const rejects = (work: () => unknown): boolean => {
  try {
    work();
    return false;
  } catch {
    return true;
  }
};

describe('hostile input', () => {
  it('every class that a controller or gateway reads has validation rules', () => {
    const without = receivedDtos(api.app).filter((dto) => propertiesOf(dto).length === 0);
    expect(without).toEqual(WITH_READERS);
    expect(dtos.length).toBeGreaterThan(30);
  });

  it('S-15 every property that holds an object rejects a list of objects', async () => {
    const nested = dtos.flatMap(nestedPropertiesOf).filter(({ isList }) => !isList);
    expect(nested.length).toBeGreaterThan(8);
    for (const value of [[], [{}], [[]], [null], ['{}']])
      expect(await acceptedBy(nested, value, (property) => `${property} must be an object`)).toEqual([]);
  });

  it('S-15 every property that holds a list of objects rejects an element that is not an object', async () => {
    const nested = dtos.flatMap(nestedPropertiesOf).filter(({ isList }) => isList);
    expect(nested.length).toBeGreaterThan(0);
    for (const element of [[], [{}], [null], null, '{}', 1, true])
      expect(await acceptedBy(nested, [element], (property) => `${property}.0 must be an object`)).toEqual([]);
  });

  it('A1 A18 every property of every DTO rejects a string of 100 KB within 50 ms, alone and in a list', async () => {
    for (const dto of dtos) {
      expect(await violationsOfDto(dto, HOSTILE_STRINGS)).toEqual([]);
      const lists = Object.entries(HOSTILE_STRINGS).map(([kind, text]) => [`a list of ${kind}`, [text]]);
      expect(await violationsOfDto(dto, Object.fromEntries(lists) as Record<string, unknown>)).toEqual([]);
    }
  }, 300_000);

  it('A4 every property of every DTO rejects a list of 100,000 elements within 50 ms', async () => {
    for (const dto of dtos) {
      for (const property of propertiesOf(dto)) {
        for (const [kind, list] of Object.entries(HOSTILE_LISTS)) {
          const label = `${dto.name}.${property}: ${kind}`;
          expect(await pipeViolations(label, dto, { [property]: list })).toEqual([]);
        }
      }
    }
  }, 300_000);

  it('A4 every DTO rejects 100,000 keys within 50 ms, in itself and in a property', async () => {
    const many = manyKeys();
    for (const dto of dtos) {
      const [property = ''] = propertiesOf(dto);
      expect(await pipeViolations(dto.name, dto, many)).toEqual([]);
      expect(await pipeViolations(`${dto.name}.${property}`, dto, { [property]: many })).toEqual([]);
    }
  }, 300_000);

  it('A4 every hand-written reader rejects all hostile values within 50 ms', async () => {
    const values = { ...HOSTILE_STRINGS, ...HOSTILE_LISTS, keys: manyKeys() };
    for (const [kind, value] of Object.entries(values)) {
      const body = Buffer.from(JSON.stringify(value));
      const readers: [string, () => unknown][] = [
        ['beat', () => readBeat('a', { generation: value }, null)],
        ['beat body', () => readBeat('a', parseJsonBody(body), null)],
        ['batch', () => readBatch({ beats: value }, 'default')],
        ['take', () => readTake({ generation: value })],
        ['holding', () => readTake({ generation: 1, holding: value })],
        ['work', () => readWork({ slots: value })],
        ['progress', () => readProgress({ text: value })],
        ['result', () => readResult({ outcome: value, parts: value })],
        ['claim', () => readCredential(String(value), String(value), null)],
        ['cursor', () => new PagedList('numbers').readCursor(String(value))],
        ['body', () => parseJsonBody(body)],
      ];
      for (const [reader, read] of readers)
        expect(await violations(`${reader}: ${kind}`, () => !rejects(read))).toEqual([]);
    }
  }, 300_000);

  it('A1 functions that normalise text are linear: 100 KB take less than 50 ms', async () => {
    const policy = new EgressPolicy();
    const aliases = new CapabilityAliases({ code: 'build', 'can code': 'code' });
    for (const [kind, text] of Object.entries(HOSTILE_STRINGS)) {
      expect(await violations(`normalise ${kind}`, () => normaliseCapability(text) === undefined)).toEqual([]);
      expect(await violations(`URL ${kind}`, () => rejects(() => policy.checkUrl(text)) && false)).toEqual([]);
      expect(await quickest(LIMIT_MS, () => aliases.searchKeysFor(text.slice(0, 1_000)))).toBeLessThan(LIMIT_MS);
    }
  });

  /** Returns the properties for which the pipe does not report the message, with the path of the property or element as the field. */
  async function acceptedBy(
    properties: readonly NestedProperty[],
    value: unknown,
    messageOf: (property: string) => string,
  ): Promise<string[]> {
    const accepted: string[] = [];
    for (const { dto, property } of properties) {
      const message = messageOf(property);
      const field = message.split(' ', 1)[0];
      const error: unknown = await validationPipe()
        .transform({ [property]: value }, { type: 'body', metatype: dto })
        .catch((reason: unknown) => reason);
      const reported = error instanceof ApiError && error.code === 'VALIDATION_FAILED' ? error.extras.errors : [];
      if (!reported?.some((one) => one.field === field && one.message === message))
        accepted.push(`${dto.name}.${property}: ${JSON.stringify(value)}`);
    }
    return accepted;
  }

  async function pipeViolations(label: string, dto: DtoClass, value: unknown): Promise<string[]> {
    const pipe = validationPipe();
    let accepted = false;
    const took = await quickest(LIMIT_MS, async () => {
      accepted = await pipe.transform(value, { type: 'body', metatype: dto }).then(
        () => true,
        () => false,
      );
    });
    return [...(accepted ? [`${label} is accepted`] : []), ...(took > LIMIT_MS ? [`${label} takes ${took} ms`] : [])];
  }
});
