import { ApiProperty } from '@nestjs/swagger';
import {
  type Discrepancy,
  ENTRY_KINDS,
  type Forecast,
  type LedgerEntryEntity,
  type Reconciliation,
  type UnitForecast,
} from '#rollcall/registry';
import { PageView } from '../http/page.js';
import { LimitView } from './amount.js';

export class LedgerEntryView {
  @ApiProperty({ example: '1207', description: 'The position in the ledger.' }) seq: string;
  @ApiProperty({ format: 'date-time', example: '2026-02-24T10:30:00.000Z', description: 'When the entry was written.' })
  at: string;
  @ApiProperty({ enum: ENTRY_KINDS, example: 'charged', description: 'What changed.' }) kind: string;
  @ApiProperty({ type: 'integer', example: 1_500, description: 'Tokens charged.' }) tokens: number;
  @ApiProperty({ type: 'integer', example: 22_500, description: 'Micro-dollars charged.' }) microUsd: number;
  @ApiProperty({ example: true, description: 'True if the subject itself spent this, false if a run below it did.' })
  own: boolean;
  @ApiProperty({ type: LimitView, nullable: true, description: 'The new limit, if this entry changed it; else null.' })
  limit: LimitView | null;
  @ApiProperty({
    format: 'date-time',
    example: '2026-02-24T00:00:00.000Z',
    description: 'Start of the window that the entry counts for.',
  })
  windowStart: string;
  @ApiProperty({ type: String, nullable: true, example: 'call-1', description: 'The reservation, if any.' })
  reservation: string | null;
  @ApiProperty({ type: [String], example: [], description: '`overdraft`, `late`, `estimated` or `reported`.' })
  marks: string[];
  @ApiProperty({
    type: String,
    nullable: true,
    example: 'key:4fT9sKq2Lm',
    description: 'Who caused the entry, if known.',
  })
  by: string | null;
  @ApiProperty({ type: String, nullable: true, example: null, description: 'The note of the operator, if any.' })
  note: string | null;
}

export class LedgerPage extends PageView {
  @ApiProperty({ type: [LedgerEntryView], description: 'Newest first.' }) items: LedgerEntryView[];
}

export function toLedgerEntryView(entry: LedgerEntryEntity): LedgerEntryView {
  const { seq, at, kind, own, windowStart, key, marks, by, note } = entry;
  const count = (text: string | null): number | null => (text === null ? null : Number(text));
  return {
    seq,
    at: at.toISOString(),
    kind,
    tokens: Number(entry.tokens),
    microUsd: Number(entry.microUsd),
    own,
    limit: entry.limitChanged ? { tokens: count(entry.limitTokens), microUsd: count(entry.limitMicroUsd) } : null,
    windowStart: windowStart.toISOString(),
    reservation: key,
    marks,
    by,
    note,
  };
}

const RUNS_OUT = {
  type: String,
  format: 'date-time',
  nullable: true,
  example: null,
  description: 'When nothing is left at this rate; null if that does not happen in this window.',
} as const;

class UnitForecastView {
  @ApiProperty({ type: 'integer', example: 12_000, description: 'The average amount per hour.' }) perHour: number;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 372_544,
    description: 'What is left. Null means unlimited.',
  })
  available: number | null;
  @ApiProperty(RUNS_OUT) runsOutAt: string | null;
}

export class ForecastView {
  @ApiProperty({ type: UnitForecastView, description: 'Tokens.' }) tokens: UnitForecastView;
  @ApiProperty({ type: UnitForecastView, description: 'Micro-dollars.' }) microUsd: UnitForecastView;
  @ApiProperty({ type: 'integer', example: 86_400_000, description: 'The period that the rates are taken from.' })
  overMs: number;
  @ApiProperty({ ...RUNS_OUT, description: 'The earlier `runsOutAt` of tokens and money.' }) runsOutAt: string | null;
}

export function toForecastView({ tokens, microUsd, overMs, runsOutAt }: Forecast): ForecastView {
  const at = (end: number | null): string | null => (end === null ? null : new Date(end).toISOString());
  const view = (unit: UnitForecast): UnitForecastView => ({ ...unit, runsOutAt: at(unit.runsOutAt) });
  return { tokens: view(tokens), microUsd: view(microUsd), overMs, runsOutAt: at(runsOutAt) };
}

const COUNT = { example: '1500', description: 'A whole number as text.' };
const NULLABLE_COUNT = {
  ...COUNT,
  type: String,
  nullable: true,
  description: 'A whole number as text. Null means unlimited.',
} as const;

class BudgetNumbersView {
  @ApiProperty(COUNT) usedTokens: string;
  @ApiProperty(COUNT) usedMicroUsd: string;
  @ApiProperty(COUNT) ownTokens: string;
  @ApiProperty(COUNT) ownMicroUsd: string;
  @ApiProperty(COUNT) heldTokens: string;
  @ApiProperty(COUNT) heldMicroUsd: string;
  @ApiProperty(NULLABLE_COUNT) limitTokens: string | null;
  @ApiProperty(NULLABLE_COUNT) limitMicroUsd: string | null;
}

class DiscrepancyView implements Discrepancy {
  @ApiProperty({ example: '42', description: 'The id of the budget.' }) id: string;
  @ApiProperty({ type: BudgetNumbersView, description: 'The counters of the budget.' }) counters: BudgetNumbersView;
  @ApiProperty({ type: BudgetNumbersView, description: 'The sums of the ledger.' }) ledger: BudgetNumbersView;
}

export class ReconciliationView implements Reconciliation {
  @ApiProperty({ type: 'integer', example: 17, description: 'How many budgets were compared.' }) checked: number;
  @ApiProperty({ type: [DiscrepancyView], description: 'Budgets whose counters differ from the ledger.' })
  discrepancies: DiscrepancyView[];
}
