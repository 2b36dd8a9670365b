import { ApiProperty } from '@nestjs/swagger';
import type { RunExport } from '#rollcall/agent-runtime';
import { RunView, toRunView } from './run.view.js';
import { RunStepView, toStepView } from './step.view.js';

/** How large an export becomes, with one more page of steps at most. */
const MAX_EXPORT_BYTES = 64 * 1_024 * 1_024;

export class RunExportView {
  @ApiProperty({ type: RunView, description: 'The run.' }) run: RunView;
  @ApiProperty({ type: [RunStepView], description: 'All steps, in order.' }) steps: RunStepView[];
  @ApiProperty({ type: () => [RunExportView], example: [], description: 'The runs that this run delegated, in order.' })
  children: RunExportView[];
  @ApiProperty({
    example: false,
    description:
      'Whether the last steps or delegated runs are missing, because the document has reached 64 MB. ' +
      '`GET /v1/runs/{id}/steps` reads all steps in pages.',
  })
  truncated: boolean;
}

/** The JSON of a `RunExportView`, piece by piece. At most one page of steps is in memory. */
export async function* exportDocument(
  exported: RunExport,
  maxBytes = MAX_EXPORT_BYTES,
): AsyncGenerator<string, void, void> {
  const room = { bytes: maxBytes };
  for await (const piece of piecesOf(exported, room)) {
    room.bytes -= Buffer.byteLength(piece);
    yield piece;
  }
}

async function* piecesOf(exported: RunExport, room: { readonly bytes: number }): AsyncGenerator<string, void, void> {
  yield `{"run":${JSON.stringify(toRunView(exported.run))},"steps":[`;
  let truncated = false;
  let separator = '';
  for await (const page of exported.steps()) {
    truncated = room.bytes <= 0;
    if (truncated) break;
    yield separator + page.map((step) => JSON.stringify(toStepView(step))).join(',');
    separator = ',';
  }
  yield '],"children":[';
  separator = '';
  for await (const child of exported.children()) {
    truncated ||= room.bytes <= 0;
    if (truncated) break;
    if (separator !== '') yield separator;
    yield* piecesOf(child, room);
    separator = ',';
  }
  yield `],"truncated":${truncated}}`;
}
