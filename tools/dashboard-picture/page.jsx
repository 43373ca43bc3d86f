/* Draws a dashboard of Grafana with Grafana's own components.
 *
 * It asks for data.json, which tools/dashboard-picture/take serves:
 *   dashboard  what dashboard.json has, as it is
 *   answers    by the query of a target: [{metric, values: [[time, text]]}], as Prometheus answers
 *   from, to, step   of these answers, in seconds
 *   light      draw the light theme
 *
 * What the Grafana program does around its components is done here: the grid, the rows, the names of series by
 * `legendFormat`, and the defaults of fields that the dashboard does not set. */
import './page.css';
import 'uplot/dist/uPlot.min.css';
import {
  FieldConfigOptionsRegistry, FieldType, ThemeContext, applyFieldOverrides, createDataFrame, createTheme, dateTime,
  displayNameOverrideProcessor, getDisplayValueAlignmentFactors, getFieldDisplayValues, identityOverrideProcessor,
  thresholdsOverrideProcessor, unitOverrideProcessor, valueMappingsOverrideProcessor,
} from '@grafana/data';
import { initPluginTranslations } from '@grafana/i18n';
import { BigValue, GlobalStyles, Icon, PanelChrome, TimeSeries, VizRepeater } from '@grafana/ui';
import { createRoot } from 'react-dom/client';

// Grafana's grid: 24 columns; a row has 30 pixels, and 8 to the next one.
const COLUMNS = 24, CELL = 30, GAP = 8;

// The defaults of the panel "timeseries", by path.
const GRAPH = {
  drawStyle: 'line', lineInterpolation: 'linear', lineWidth: 1, fillOpacity: 0, gradientMode: 'none', spanNulls: false,
  insertNulls: false, showPoints: 'auto', showValues: false, pointSize: 5, stacking: { mode: 'none', group: 'A' },
  axisPlacement: 'auto', axisLabel: '', axisColorMode: 'text', axisBorderShow: false, axisCenteredZero: false,
  scaleDistribution: { type: 'linear' }, hideFrom: { tooltip: false, viz: false, legend: false },
  thresholdsStyle: { mode: 'off' }, lineStyle: undefined, axisSoftMin: undefined, axisSoftMax: undefined,
  axisWidth: undefined, axisGridShow: undefined, fillBelowTo: undefined, barAlignment: 0, barWidthFactor: 0.6,
};
// The options that every panel has, with what reads them.
const STANDARD = {
  unit: unitOverrideProcessor, displayName: displayNameOverrideProcessor, thresholds: thresholdsOverrideProcessor,
  mappings: valueMappingsOverrideProcessor, min: identityOverrideProcessor, max: identityOverrideProcessor,
  decimals: identityOverrideProcessor, noValue: identityOverrideProcessor, color: identityOverrideProcessor,
};

function options() {
  const registry = new FieldConfigOptionsRegistry();
  const add = (path, process, more) =>
    registry.register({ id: path, path, name: path, process, shouldApply: () => true, editor: () => null, override: () => null, ...more });
  for (const [path, process] of Object.entries(STANDARD))
    add(path, process);
  for (const [path, value] of Object.entries(GRAPH))
    add(path, identityOverrideProcessor, { id: 'custom.' + path, isCustom: true, defaultValue: value });
  return registry;
}

/* As Grafana's data source names a series. */
function name(target, metric) {
  return target.legendFormat.replace(/\{\{\s*([^}\s]+)\s*\}\}/g, (_, label) => metric[label] ?? '');
}

const unchanged = (text) => text;

/* A value for the panels: as in Grafana, what is no number leaves a gap. */
function value(text) {
  const number = Number(text);
  return Number.isFinite(number) ? number : null;
}

/* One frame for each series. A series that has a gap of more than a step is interrupted there. */
function frames(panel, { answers, step }, theme, registry) {
  const made = panel.targets.flatMap((target) => answers[target.expr].map(({ metric, values }) => createDataFrame({
    refId: target.refId,
    fields: [
      { name: 'Time', type: FieldType.time, config: { interval: step * 1000 }, values: values.map(([time]) => time * 1000) },
      { name: 'Value', type: FieldType.number, labels: metric, config: { displayNameFromDS: name(target, metric) },
        values: values.map(([, text]) => value(text)) },
    ],
  })));
  return applyFieldOverrides({ data: made, fieldConfig: panel.fieldConfig, fieldConfigRegistry: registry, theme,
    replaceVariables: unchanged, timeZone: 'utc' });
}

function TimeSeriesPanel({ panel, series, timeRange, width, height }) {
  return series.length ? (
    <TimeSeries frames={series} width={width} height={height} timeRange={timeRange} timeZone="utc"
      legend={panel.options.legend} options={panel.options} />
  ) : <div className="nothing">No data</div>;
}

function StatPanel({ panel, series, theme, width, height }) {
  const { options, fieldConfig } = panel, hasGraph = options.graphMode !== 'none';
  const values = getFieldDisplayValues({ data: series, reduceOptions: options.reduceOptions, fieldConfig, theme, timeZone: 'utc',
    replaceVariables: unchanged, sparkline: hasGraph });
  return (
    <VizRepeater source={series} getValues={() => values} width={width} height={height} renderCounter={1} itemSpacing={3} autoGrid
      orientation={options.orientation} getAlignmentFactors={getDisplayValueAlignmentFactors}
      renderValue={(shown) => (
        <BigValue value={shown.value.display} sparkline={hasGraph ? shown.value.sparkline : undefined} count={shown.count}
          alignmentFactors={shown.alignmentFactors} width={shown.width} height={shown.height} theme={theme}
          colorMode={options.colorMode} graphMode={options.graphMode} justifyMode={options.justifyMode} textMode={options.textMode}
          disableWideLayout={!options.wideLayout} />
      )} />
  );
}

const DRAWN = { timeseries: TimeSeriesPanel, stat: StatPanel };

function Panel({ panel, data, theme, registry, timeRange, width, height }) {
  const series = frames(panel, data, theme, registry), Drawn = DRAWN[panel.type];
  return (
    <PanelChrome title={panel.title} description={panel.description} width={width} height={height} padding="md">
      {(innerWidth, innerHeight) => <Drawn width={innerWidth} height={innerHeight} {...{ panel, series, theme, timeRange }} />}
    </PanelChrome>
  );
}

function Page({ data, theme }) {
  const registry = options(), column = (innerWidth - GAP) / COLUMNS;
  const timeRange = { from: dateTime(data.from * 1000), to: dateTime(data.to * 1000), raw: { from: String(data.from), to: String(data.to) } };
  const panels = data.dashboard.panels;
  const unknown = panels.find((panel) => panel.type !== 'row' && !DRAWN[panel.type]);
  if (unknown)
    throw new Error(`${unknown.title}: panels of type ${unknown.type} are not drawn yet`);
  return (
    <main style={{ background: theme.colors.background.canvas }}>
      {panels.map((panel) => {
        const { x, y, w, h } = panel.gridPos;
        const box = { left: GAP + x * column, top: GAP + y * (CELL + GAP), width: w * column - GAP, height: h * (CELL + GAP) - GAP };
        const about = { position: 'absolute', ...box };
        return panel.type === 'row' ? (
          <h2 key={panel.id} style={about}><Icon name="angle-down" />{panel.title}</h2>
        ) : (
          <section key={panel.id} style={about}>
            <Panel width={box.width} height={box.height} {...{ panel, data, theme, registry, timeRange }} />
          </section>
        );
      })}
    </main>
  );
}

async function begin() {
  const data = await (await fetch('data.json')).json();
  const theme = createTheme({ colors: { mode: data.light ? 'light' : 'dark' } });
  await initPluginTranslations('dashboard-picture');
  const root = createRoot(document.getElementById('root'));
  root.render(<ThemeContext.Provider value={theme}><GlobalStyles /></ThemeContext.Provider>);
  // Text in a canvas does not wait for its font.
  await new Promise((done) => setTimeout(done));
  await Promise.all([400, 500].map((weight) => document.fonts.load(`${weight} 12px Inter`)));
  root.render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <Page data={data} theme={theme} />
    </ThemeContext.Provider>
  );
  document.body.dataset.drawn = 'true';
}

begin().catch((error) => { document.body.dataset.failed = error.stack; });
