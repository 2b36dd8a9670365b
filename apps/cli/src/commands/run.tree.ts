import type { RunTreeView, RunView } from '#rollcall/client';
import { count, money, oneLine, span } from '../output/text.js';

type Root = Pick<RunTreeView, 'run' | 'children' | 'subtree'>;

/** The runs of a tree, a line each: state, agent, tokens and cost. */
export function treeLines({ run, children, subtree }: Root, now: number, indent = '', isLast?: boolean): string[] {
  const branch = isLast === undefined ? '' : isLast ? '└─ ' : '├─ ';
  const below = isLast === undefined ? '' : isLast ? '   ' : '│  ';
  const line = `${indent}${branch}${MARKS[run.state]} ${nameOf(run)} ${stateText(run)} ${timeOf(run, now)} ${costText(subtree)}`;
  return [line, ...children.flatMap((child, at) => treeLines(child, now, indent + below, at === children.length - 1))];
}

const MARKS: Record<RunView['state'], string> = {
  queued: '○',
  running: '●',
  waiting: '‖',
  completed: '✓',
  refused: '✗',
  stopped: '✗',
  failed: '✗',
  cancelled: '✗',
};

function nameOf({ agentId, definition }: Pick<RunView, 'agentId' | 'definition'>): string {
  return definition === null ? agentId : definition.name;
}

function stateText({ state, waitingFor }: Pick<RunView, 'state' | 'waitingFor'>): string {
  return waitingFor === null ? state : `${state} for ${waitingFor}`;
}

function timeOf({ startedAt, finishedAt }: Pick<RunView, 'startedAt' | 'finishedAt'>, now: number): string {
  if (startedAt === null) return '';
  return span((finishedAt === null ? now : Date.parse(finishedAt)) - Date.parse(startedAt));
}

function costText({ tokens, microUsd }: RunTreeView['subtree']): string {
  return `· ${count(tokens)} tokens ${money(microUsd)}`;
}

/** The last lines of a text that is still being written. */
export function lastLines(text: string, most: number, columns: number): string[] {
  const width = Math.max(20, columns - 4);
  const lines = text.split('\n').flatMap((line) => piecesOf(oneLine(line), width));
  return lines.slice(-most).map((line) => `  ${line}`);
}

function piecesOf(line: string, width: number): string[] {
  const characters = Array.from(line);
  const pieces = Math.ceil(characters.length / width);
  return Array.from({ length: pieces }, (_, index) => characters.slice(index * width, (index + 1) * width).join(''));
}
