import { pushFaultsOf } from '../../bench/support/tasks/push.check.js';

type Received = [state: string, second: number];

const ALL: Received[] = [
  ['SUBMITTED', 1],
  ['WORKING', 2],
  ['INPUT_REQUIRED', 3],
  ['SUBMITTED', 4],
  ['COMPLETED', 5],
];
const [submitted, working, asked, again, completed] = ALL as [Received, Received, Received, Received, Received];

const faultsOf = (received: Received[]): object =>
  pushFaultsOf([
    received.map(([state, second]) => ({ state: `TASK_STATE_${state}`, timestamp: `2026-11-17T00:00:0${second}Z` })),
  ]);

describe('the check of the notifications in the storm of tasks', () => {
  it.each<[string, Received[]]>([
    ['each notification once', ALL],
    ['a notification that is repeated at once', [submitted, working, working, working, asked, again, completed]],
    ['the last notification twice', [...ALL, completed]],
  ])('S3.12 accepts %s', (_name, received) => {
    expect(faultsOf(received)).toEqual({ pushesMissed: 0, pushesDisordered: 0 });
  });

  it.each<[string, Received[], number]>([
    ['no notification', [], 5],
    ['no last notification', [submitted, working, asked, again], 1],
    ['a gap', [submitted, working, again, completed], 1],
  ])('S3.12 counts the missed notifications: %s', (_name, received, pushesMissed) => {
    expect(faultsOf(received)).toMatchObject({ pushesMissed });
  });

  it.each<[string, Received[]]>([
    ['an older notification after a newer one', [submitted, working, asked, working, again, completed]],
    ['two notifications in the wrong order', [submitted, asked, working, again, completed]],
    ['a notification after the end', [...ALL, again]],
    ['the same state at another time', [submitted, working, ['WORKING', 3], asked, again, completed]],
  ])('S3.12 rejects %s', (_name, received) => {
    expect(faultsOf(received)).toEqual({ pushesMissed: 0, pushesDisordered: 1 });
  });
});
