import { runSuite } from './support/suite.js';

/** All storms, one after another: `npm run storm`, `npm run storm -- --small`, `npm run storm -- events heal`. */
await runSuite(
  [
    {
      name: 'budget',
      program: 'budget-storm',
      about: 'reservations race and processes crash; no budget is exceeded',
      args: ['100'],
      smallArgs: ['5'],
    },
    {
      name: 'events',
      program: 'event-storm',
      about: 'connections to Postgres and a consumer are killed; no event is lost or repeated',
      args: ['60', '200'],
      smallArgs: ['10', '5'],
    },
    {
      name: 'heal',
      program: 'heal-storm',
      about: 'random faults begin and heal; no live agent is evicted, and no client stops',
      args: ['600'],
      smallArgs: ['30', '4', '30', '6', '2000'],
    },
    {
      name: 'freeze',
      program: 'frozen-postgres',
      about: 'Postgres is frozen; no agent is evicted',
      args: ['30'],
      smallArgs: ['5'],
    },
    {
      name: 'failover',
      program: 'failover-storm',
      about:
        'the primary of a Patroni cluster fails; no acknowledged write is lost, and no agent that beats is evicted',
      args: ['10', '1'],
      smallArgs: ['1', '1'],
    },
    {
      name: 'hostile',
      program: 'hostile-storm',
      about: 'hostile clients send expensive requests; others are served in time',
      args: ['60'],
      smallArgs: ['10'],
    },
    {
      name: 'tasks',
      program: 'task-storm',
      about:
        'replicas that stream A2A tasks are killed; no subscriber misses a change, notifications arrive in order, nothing is done twice',
      args: ['200', '20'],
      smallArgs: ['20', '2'],
    },
    {
      name: 'work',
      program: 'work-storm',
      about: 'replicas and agents that take their tasks are killed; no task is done twice, and no result is lost',
      args: ['200', '20', '20', '20'],
      smallArgs: ['20', '2', '2', '4'],
    },
    {
      name: 'restart',
      program: 'restart-storm',
      about:
        'replicas are restarted and killed while agents of all kinds work; nothing is done twice, and no run is lost',
      args: ['20', '5'],
      smallArgs: ['3', '2'],
    },
    {
      name: 'client',
      program: 'client-storm',
      about:
        'connections of the client are cut and replicas are killed; each call has one effect, no event or task is lost or repeated',
      args: ['500', '20', '100'],
      smallArgs: ['50', '3', '10'],
    },
    {
      name: 'waits',
      program: 'wait-storm',
      about: 'callers wait for short runs on two replicas; no answer is late',
      args: ['1500'],
      smallArgs: ['150'],
    },
    {
      name: 'fair',
      program: 'fair-storm',
      about: 'one caller fills the queue of runs; the runs of other namespaces and callers start in time',
      args: ['600'],
      smallArgs: ['60', '2'],
    },
  ],
  process.argv.slice(2),
);
