import { given } from '../../testing/given.js';
import type { LedgerOp } from './ledger.operation.js';
import { BudgetOwners, needsOwners } from './ledger.session.js';

const owners = new BudgetOwners([
  { kind: 'agent', subject: 'mine', owner: 'me' },
  { kind: 'agent', subject: 'theirs', owner: 'them' },
  { kind: 'agent', subject: 'deleted', owner: null },
  { kind: 'run', subject: 'mine', owner: 'me' },
  { kind: 'run', subject: 'theirs', owner: 'them' },
]);

function reserve(scopes: { agentId?: string; runId?: string }, onlyOwnedBy?: string): LedgerOp {
  return { op: 'reserve', request: given.reservation(1, { ...scopes, onlyOwnedBy }) };
}

describe('the owners of budgets', () => {
  it.each([
    ['an own agent', { agentId: 'mine' }],
    ['an own run', { runId: 'mine' }],
    ['neither an agent nor a run', {}],
    ['an agent without a budget', { agentId: 'unknown' }],
  ])('allow a reservation for %s', (_what, scopes) => {
    expect(owners.errorOf(reserve(scopes, 'me'))).toBeUndefined();
  });

  it.each([
    ['an agent of another owner', { agentId: 'theirs' }],
    ['an agent that was deleted', { agentId: 'deleted' }],
    ['a run of another owner', { runId: 'theirs' }],
    ['an own agent in a run of another owner', { agentId: 'mine', runId: 'theirs' }],
  ])('reject a reservation for %s', (_what, scopes) => {
    expect(owners.errorOf(reserve(scopes, 'me'))).toMatchObject({ code: 'NOT_THE_OWNER' });
    expect(owners.errorOf(reserve(scopes))).toBeUndefined();
  });

  it('are needed only for reservations that are limited to an owner', () => {
    expect(needsOwners([reserve({ agentId: 'mine' }), { op: 'roll', budgetId: 1 }])).toBe(false);
    expect(needsOwners([reserve({}), reserve({ agentId: 'mine' }, 'me')])).toBe(true);
  });
});
