"""What capacity costs: prices with their origin and date, in whole micro-dollars; pure.

price       one price by the hour, exact, and how amounts are written
table       dated list prices of cloud machines
catalogue   rows of a public price catalogue, and the traps such rows set
pricing     the price of a node: its own, else the table's, else none
splitting   a node's price split among the pods on it, so that nothing is lost or charged twice
parts       slices and shares of one GPU
running     what a run costs by the hour, to its end and to its deadline; what its death costs
saving      how often to save, and whether spot pays
"""
