import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiProperty, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { RunFiles, RunReader, type RunTree } from '#rollcall/agent-runtime';
import { Permit } from '../auth/route.access.js';
import { PagedList, PageQuery, PageView } from '../http/page.js';
import { Problems } from '../http/problems/problem.docs.js';
import { InFlight } from '../http/server/in-flight.js';
import { Limits } from '../http/server/routes.js';
import { NoInput } from '../http/validation/fields.js';
import { runKeyOf } from './run.commands.js';
import { exportDocument, RunExportView } from './run.export.js';
import { RunSummaryView, toRunSummaryView } from './run.view.js';
import { FILE_ENCODINGS, FileQuery, RUN_ID_PARAM } from './runs.dto.js';
import { Caller, type Principal } from '../auth/principal.js';

class SubtreeView {
  @ApiProperty({ type: 'integer', example: 2_400, description: 'Tokens.' }) tokens: number;
  @ApiProperty({ type: 'integer', example: 16_200, description: 'Micro-dollars.' }) microUsd: number;
}

class RunTreeView {
  @ApiProperty({
    type: RunSummaryView,
    description: 'The run, without its contents. Its `usage` does not include descendants.',
  })
  run: RunSummaryView;
  @ApiProperty({
    type: SubtreeView,
    description: 'The usage of the run and all its descendants, from the budget ledger.',
  })
  subtree: SubtreeView;
  @ApiProperty({ type: () => [RunTreeView], example: [], description: 'The runs that this run delegated, in order.' })
  children: RunTreeView[];
}

class RunFileView {
  @ApiProperty({ example: 'src/sum.js', description: 'The path in the workspace.' }) path: string;
  @ApiProperty({ type: 'integer', example: 1_204, description: 'The size.' }) bytes: number;
}

class RunFilePage extends PageView {
  @ApiProperty({ type: [RunFileView], description: 'The files, sorted by path.' }) items: RunFileView[];
}

const FILES = new PagedList('run-files', /^.{1,1024}$/su);

class FileContentView extends RunFileView {
  @ApiProperty({ enum: FILE_ENCODINGS, example: 'utf8', description: '`base64` for a file that is not a text.' })
  encoding: (typeof FILE_ENCODINGS)[number];
  @ApiProperty({ example: 'export const sum = (a, b) => a + b;\n', description: 'The content.' }) content: string;
}

/** A client that reads an export more slowly is disconnected. */
const MAX_EXPORT_MS = 5 * 60_000;

/** Reads whole trees of runs, and their files. */
@ApiTags('runs')
@Controller('runs')
@Permit('runs:read')
export class RunHistoryController {
  constructor(
    private readonly reader: RunReader,
    private readonly runFiles: RunFiles,
    private readonly inFlight: InFlight,
  ) {}

  @Get(':id/tree')
  @NoInput()
  @ApiOperation({
    operationId: 'runs.getTree',
    summary: 'Get a run with its descendants',
    description: 'Each run has its own usage, and the usage of its subtree.',
  })
  @ApiParam(RUN_ID_PARAM)
  @ApiOkResponse({ type: RunTreeView, description: 'The tree.' })
  @Problems('RUN_NOT_FOUND')
  async tree(@Param('id') id: string, @Caller() caller: Principal): Promise<RunTreeView> {
    return toTreeView(await this.reader.tree(runKeyOf(caller, id)));
  }

  @Get(':id/export')
  @NoInput()
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'runs.export',
    summary: 'Export a run',
    description:
      'Everything that is stored about the run and its descendants, in one JSON document, which is streamed. Beyond 64 MB, the last ' +
      'steps and delegated runs are left out, and `truncated` is true. If the response is interrupted, the document is not complete.',
  })
  @ApiParam(RUN_ID_PARAM)
  @ApiOkResponse({ type: RunExportView, description: 'The run, its steps and its descendants.' })
  @Problems('RUN_NOT_FOUND')
  async export(@Param('id') id: string, @Caller() caller: Principal, @Res() reply: FastifyReply): Promise<void> {
    const exported = await this.reader.export(runKeyOf(caller, id));
    void reply.type('application/json; charset=utf-8');
    if (reply.request.method === 'HEAD') return void reply.send();
    this.inFlight.exempt(reply);
    const body = Readable.from(exportDocument(exported), { objectMode: false });
    const timer = setTimeout(() => body.destroy(new Error('the export was read too slowly')), MAX_EXPORT_MS).unref();
    body.once('close', () => clearTimeout(timer));
    void reply.send(body);
  }

  @Get(':id/files')
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'runs.listFiles',
    summary: 'List the files of a run',
    description:
      'The files in the workspace of the run as they are now. A delegated run has the workspace of its root.',
  })
  @ApiParam(RUN_ID_PARAM)
  @ApiOkResponse({ type: RunFilePage, description: 'The files; none if the run has no workspace.' })
  @Problems('RUN_NOT_FOUND', 'RUN_REDACTED', 'WORKSPACE_MISSING', 'CURSOR_INVALID')
  async files(
    @Param('id') id: string,
    @Query() { limit, cursor }: PageQuery,
    @Caller() caller: Principal,
  ): Promise<RunFilePage> {
    const files = await this.runFiles.list(runKeyOf(caller, id), limit + 1, FILES.readCursor(cursor));
    return FILES.toPage(
      files,
      limit,
      (file) => file,
      ({ path }) => path,
    );
  }

  @Get(':id/files/content')
  @Limits({ kind: 'streams' })
  @ApiOperation({ operationId: 'runs.readFile', summary: 'Read a file of a run' })
  @ApiParam(RUN_ID_PARAM)
  @ApiOkResponse({ type: FileContentView, description: 'The content.' })
  @Problems('RUN_NOT_FOUND', 'RUN_REDACTED', 'RUN_FILE_NOT_FOUND', 'WORKSPACE_REJECTED', 'WORKSPACE_MISSING')
  async readFile(
    @Param('id') id: string,
    @Query() { path }: FileQuery,
    @Caller() caller: Principal,
  ): Promise<FileContentView> {
    const content = await this.runFiles.read(runKeyOf(caller, id), path);
    const isText = isUtf8(content) && !content.includes(0);
    const encoding = isText ? 'utf8' : 'base64';
    return { path, bytes: content.length, encoding, content: content.toString(encoding) };
  }
}

function toTreeView({ run, subtree, children }: RunTree): RunTreeView {
  return { run: toRunSummaryView(run), subtree, children: children.map(toTreeView) };
}
