import { readdirSync, readFileSync } from 'node:fs';

/** Ticks of /proc per second; the same on all Linux systems. */
const TICKS = 100;
const PARENT = 1;
const [USER, SYSTEM, ENDED_USER, ENDED_SYSTEM] = [11, 12, 13, 14];

/** The fields of /proc/<pid>/stat after the name of the program, which may contain spaces. */
function statOf(pid: string): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
  } catch {
    return []; // the process has ended
  }
}

function ticksOf(stat: readonly number[]): number {
  return [USER, SYSTEM, ENDED_USER, ENDED_SYSTEM].reduce((sum, field) => sum + (stat[field] ?? 0), 0);
}

/** The CPU seconds of a process and its children until now, including children that have ended. Linux only; elsewhere 0. */
export function cpuSecondsOf(pid: number): number {
  return (
    [pid, ...childrenOf(pid)].map((one) => statOf(String(one))).reduce((sum, stat) => sum + ticksOf(stat), 0) / TICKS
  );
}

/** The resident memory of the process alone, in MB. Linux only. */
export function memoryMbOf(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1_024;
}

export function childrenOf(pid: number): number[] {
  return pids()
    .filter((one) => statOf(one)[PARENT] === pid)
    .map(Number);
}

export function parentOf(pid: number): number {
  return statOf(String(pid))[PARENT] ?? 0;
}

function pids(): string[] {
  return process.platform === 'linux' ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
}
