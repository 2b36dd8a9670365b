/** The parts of A2A that the storm checks. */
export interface Status {
  readonly state: string;
  readonly timestamp: string;
}

export interface SentTask {
  readonly id: string;
  readonly status: Status;
  readonly artifacts?: readonly Artifact[];
}

interface Artifact {
  readonly parts: readonly { readonly text?: string }[];
}

export interface TaskEvent {
  readonly task?: SentTask;
  readonly statusUpdate?: { readonly taskId: string; readonly status: Status };
  readonly artifactUpdate?: { readonly taskId: string; readonly artifact: Artifact; readonly lastChunk?: boolean };
  readonly error?: object;
}

export const isFinished = ({ state }: Status): boolean =>
  state === 'TASK_STATE_COMPLETED' || state === 'TASK_STATE_FAILED';

export function textOf({ parts }: Artifact): string {
  return parts.map(({ text = '' }) => text).join('');
}

/** Yields the data of server-sent events. Ends with the response, even if the connection breaks. */
export async function* eventsOf(response: Response): AsyncGenerator<TaskEvent> {
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = dataOf(block);
        if (data !== undefined) yield data;
      }
    }
  } catch {
    // the replica was killed
  }
}

/** JSON-RPC wraps the events. Comments have no data. */
function dataOf(block: string): TaskEvent | undefined {
  const line = block.split('\n').find((one) => one.startsWith('data: '));
  if (line === undefined) return undefined;
  const data = JSON.parse(line.slice('data: '.length)) as TaskEvent & { result?: TaskEvent };
  return data.result ?? data;
}
