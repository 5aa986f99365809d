# The table of scripts/gpu-check as markdown, from docs/gpu-static.md and the lines of bench_gpu, peers and
# torch_rows.py: `row [PEER:]ID WHAT VALUE UNIT BOUND PERCENT`, `note TEXT`. Estimated: by the model of gpu-static, as a
# share of what a copy reaches. PEER is torch, cub, hinted (CUB that knows the segments' one size) or atomic;
# times: how much longer it takes. The last column is whether a row has what it should: a share of the bound, a time,
# its peers' speed; empty where nothing is asked.
# A row of gpu-static: its percent is of the data sheet's bandwidth, of which the model's copy reaches 92 %.
$1 == "|" && $3 == "|" && $4 + 0 > 0 && $5 == "|" { estimated[$2] = sprintf("%.0f", $4 / 0.92); next }
$1 == "note" { notes[++n] = substr($0, 6); next }
$1 != "row" { next }
{
  peer = ""
  id = $2
  if (split($2, parts, ":") == 2) {
    peer = parts[1]
    id = parts[2]
  }
  key = id " " $3
  if (peer != "") { time[peer, key] = $4; next }
  if (!(key in value)) order[++rows] = key
  value[key] = $4
  unit[key] = $5
  percent[key] = $7
}

# "W8 forward+backward" and "W5 axis0:forward+backward" are counted as W8 and W5:axis0, which have the gradient.
function estimate_of(key,    id) {
  id = key
  if (!sub(/^catalogue /, "", id)) {
    sub(/ forward\+backward$|:forward\+backward$/, "", id) || sub(/:forward$/, "", id)
    if (key ~ /:forward$/ && key !~ /argmax/) return ""
    sub(/ /, ":", id)
  }
  return estimated[id]
}
function times(peer, key) { return ((peer, key) in time) ? time[peer, key] / value[key] : 0 }
function least_percent(key) {
  if (key ~ /^sum /) return 90
  if (key ~ /^gather_gradient kept/) return 40
  return key ~ /^W(1|2|3|5|6|8|9|12|13) / ? 80 : 0
}
function most(key) { return key ~ /^launch / ? 3 : key == "compile first" ? 60 : key == "compile again" ? 1 : 0 }
function slower(peer, key, least) { return times(peer, key) > 0 && times(peer, key) < least }
function met(key) {
  if (percent[key] > 0 && percent[key] < least_percent(key)) return "no"
  if (most(key) > 0) return value[key] <= most(key) ? "yes" : "no"
  if (slower("torch", key, 0.95) || slower("hinted", key, 1)) return "no"
  if (slower("cub", key, key ~ /^segmented [14]$/ ? 10 : 1)) return "no"
  if (key ~ / kept$/ && slower("atomic", key, 1 / 1.3)) return "no"
  return least_percent(key) > 0 || times("torch", key) + times("cub", key) + times("hinted", key) > 0 ? "yes" : ""
}
function shown(peer, key) {
  if (!((peer, key) in time)) return sprintf(" %9s | %6s |", "", "")
  return sprintf(" %9.4g | %6.2f |", time[peer, key], times(peer, key))
}

END {
  split("torch cub hinted atomic", peers, " ")
  split("PyTorch CUB hinted atomics", titles, " ")
  line = sprintf("| %-34s | %12s | %10s | %9s |", "row", "Sheaf", "% of bound", "estimated")
  rule = "|---|---|---|---|"
  for (p = 1; p <= 4; ++p) {
    line = line sprintf(" %9s | %6s |", titles[p], "times")
    rule = rule "---|---|"
  }
  print line " met |"
  print rule "---|"
  for (k = 1; k <= rows; ++k) {
    key = order[k]
    line = sprintf("| %-34s | %7.4g %-4s | %10s | %9s |", key, value[key], unit[key],
                  percent[key] > 0 ? sprintf("%.0f", percent[key]) : "", estimate_of(key))
    for (p = 1; p <= 4; ++p) line = line shown(peers[p], key)
    printf "%s %-3s |\n", line, met(key)
    if (times("torch", key) > 0) { logs += log(times("torch", key)); ++common }
  }
  print ""
  if (common) printf "Geometric mean over PyTorch, %d rows: %.2f.\n", common, exp(logs / common)
  for (k = 1; k <= n; ++k) print "- " notes[k]
}
