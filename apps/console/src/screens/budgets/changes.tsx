import { type ReactNode, useState } from 'react';
import type { BudgetView } from '#rollcall/client';
import { Action } from '../../parts/action.js';
import { amountOf, TextField } from '../../parts/fields.js';
import { useCaller } from '../../session/session.js';
import { amounts, amountText, subjectText, type BudgetUnit, BUDGET_UNITS } from './budget-words.js';

/** Amounts that somebody entered; money in dollars. */
type Entered = Partial<Record<BudgetUnit, number | null>>;

const MICRO = 1_000_000;

interface AmountFieldsProps {
  legend: string;
  entered: Entered;
  onChange: (entered: Entered) => void;
}

function AmountFields({ legend, entered, onChange }: AmountFieldsProps): ReactNode {
  return (
    <fieldset className="amounts">
      <legend>{legend}</legend>
      {BUDGET_UNITS.map((unit) => (
        <TextField<number | null>
          key={unit}
          label={unit === 'tokens' ? 'Tokens' : 'US dollars'}
          inputMode="decimal"
          value={entered[unit] ?? null}
          show={(amount) => (amount === null ? '' : String(amount))}
          read={amountOf}
          onChange={(amount) => onChange({ ...entered, [unit]: amount })}
        />
      ))}
    </fieldset>
  );
}

/** What the API gets: whole tokens and micro-dollars, without what was not entered. */
function bodyOf({ tokens, microUsd }: Entered): { tokens?: number; microUsd?: number } {
  return {
    ...(typeof tokens === 'number' && { tokens: Math.round(tokens) }),
    ...(typeof microUsd === 'number' && { microUsd: Math.round(microUsd * MICRO) }),
  };
}

const hasAmount = (entered: Entered): boolean => Object.keys(bodyOf(entered)).length > 0;
const sumText = (entered: Entered): string =>
  Object.entries(bodyOf(entered))
    .map(([unit, amount]) => amountText(unit as BudgetUnit, amount))
    .join(' and ');

/** Half of what is limited, as a first proposal. */
function proposal({ limit }: BudgetView): Entered {
  return {
    ...(limit.tokens !== null && { tokens: Math.round(limit.tokens / 2) }),
    ...(limit.microUsd !== null && { microUsd: limit.microUsd / 2 / MICRO }),
  };
}

export function TopUp({ budget }: { budget: BudgetView }): ReactNode {
  const { api } = useCaller();
  const { id } = budget;
  const [entered, setEntered] = useState<Entered>({});
  const body = (note: string) => ({ ...bodyOf(entered), ...(note !== '' && { note }) });
  return (
    <Action
      label="Top up…"
      tone="primary"
      title={`Top up the budget of ${subjectText(budget)}?`}
      verb={hasAmount(entered) ? `Add ${sumText(entered)}` : 'Add'}
      isReady={hasAmount(entered)}
      onOpen={() => setEntered(proposal(budget))}
      request={(note) => ({ method: 'POST', path: `/v1/budgets/${id}/topup`, body: body(note) })}
      run={async (note, idempotencyKey) => await api.budgets.topUp(id, body(note), { idempotencyKey })}
    >
      <p>
        The limit rises, now {amounts(budget.limit)}. Calls that the budget rejects are admitted again. “Adjust” undoes
        it.
      </p>
      <AmountFields legend="Add" entered={entered} onChange={setEntered} />
    </Action>
  );
}

export function Adjust({ budget }: { budget: BudgetView }): ReactNode {
  const { api } = useCaller();
  const { id } = budget;
  const [limit, setLimit] = useState<Entered>({});
  const [used, setUsed] = useState<Entered>({});
  const body = (note: string) => ({
    ...(hasAmount(limit) && { limit: bodyOf(limit) }),
    ...(hasAmount(used) && { used: bodyOf(used) }),
    note,
  });
  return (
    <Action
      label="Adjust…"
      title={`Adjust the budget of ${subjectText(budget)}?`}
      verb="Set these numbers"
      needsNote
      isReady={hasAmount(limit) || hasAmount(used)}
      onOpen={() => {
        setLimit({});
        setUsed({});
      }}
      request={(note) => ({ method: 'POST', path: `/v1/budgets/${id}/adjust`, body: body(note) })}
      run={async (note, idempotencyKey) => await api.budgets.adjust(id, body(note), { idempotencyKey })}
    >
      <p>
        Sets the limit, or what was used in this window, to exact numbers, such as those of a bill. Now:{' '}
        {amounts(budget.usage.subtree)} used, limit {amounts(budget.limit)}. An empty field changes nothing. Another
        adjustment undoes it.
      </p>
      <AmountFields legend="New limit" entered={limit} onChange={setLimit} />
      <AmountFields legend="Used in this window" entered={used} onChange={setUsed} />
    </Action>
  );
}
