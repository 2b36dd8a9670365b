import { inputHashOf } from '../tools/input.hash.js';

/** What a decision is about. */
export interface ApprovalQuestion {
  readonly input: unknown;
  /** The number of the model reply that contains the call; 0 if the question is about the call of a whole agent. */
  readonly turn: number;
  /** How many decisions about this call came before. A call that was approved and then interrupted needs another one. */
  readonly asked: number;
}

/**
 * Names one question about a call: the hash of its input, its turn, and how many decisions came before. Models use the same call id and
 * input again in later turns, so the id and the input alone would let a decision that is sent twice pay for two calls (S-9).
 */
export function approvalHashOf({ input, turn, asked }: ApprovalQuestion): string {
  return `${inputHashOf(input)}.${turn}.${asked}`;
}

/** The question of a delegated run: runs of one tree may make the same call in the same turn. */
export function delegatedHashOf(approvalHash: string, runId: string): string {
  return `${approvalHash}.${runId}`;
}

/** Whether a stored decision is about this input in this turn. Decisions of earlier versions contain the hash of the input only. */
export function isAbout(approvalHash: string, { input, turn }: Pick<ApprovalQuestion, 'input' | 'turn'>): boolean {
  const [inputHash, decidedTurn] = approvalHash.split('.', 2);
  return inputHash === inputHashOf(input) && (decidedTurn === undefined || decidedTurn === String(turn));
}
