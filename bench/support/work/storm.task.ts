/** What a task of the storm reports. It follows from the task, so that every report can be checked. */
export function tokensOf(callId: string): number {
  return 10 + (parseInt(callId.slice(0, 4), 16) % 90);
}
