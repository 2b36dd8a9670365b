import type { ReactNode } from 'react';
import type { BudgetView } from '#rollcall/client';
import { bindingUnit, CONDITIONS, sharesOf } from './budget-words.js';

/** Used, held and left of the unit that binds, in one bar. */
export function SpentBar({ budget }: { budget: BudgetView }): ReactNode {
  const shares = sharesOf(budget, bindingUnit(budget));
  if (!shares) return <span className="muted">no limit</span>;
  const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;
  const used = Math.round(shares.used * 100);
  return (
    <span className="spent">
      <svg aria-hidden="true" className={CONDITIONS[budget.condition].tone}>
        <rect className="used" width={percent(shares.used)} height="100%" />
        <rect
          className="held"
          x={percent(shares.used)}
          width={percent(Math.min(shares.held, 1 - shares.used))}
          height="100%"
        />
      </svg>
      <span>{used === 0 && shares.used > 0 ? '< 1' : used} %</span>
    </span>
  );
}
